-- The runs of the question: plain models of the sandwich design, at the size in use and at rungs.
SELECT run, size, seed, layers, present
FROM runs
WHERE residual = 'sandwich' AND plain
ORDER BY rung IS NOT NULL, size, layers, seed, readouts, run
