-- The pairs of models that have been mapped, and how many numbers say so.
SELECT run AS pair, count(*) AS numbers FROM dissections WHERE analysis = 'linear_maps' GROUP BY run ORDER BY run
