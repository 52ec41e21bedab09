-- The runs of the question: those whose depth is dissected.
SELECT run, residual, setup, seed, layers, run IN (SELECT run FROM dissections WHERE analysis = 'erasure') AS present
FROM dissected_runs WHERE full_depth ORDER BY place, seed
