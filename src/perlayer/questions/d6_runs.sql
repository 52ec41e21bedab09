-- The pairs of models that have been mapped.
SELECT run, true AS present FROM dissections WHERE analysis = 'linear_maps' GROUP BY run ORDER BY run
