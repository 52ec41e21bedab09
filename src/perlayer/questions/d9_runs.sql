-- The runs of the question: plain models of the sandwich design, at the size in use and on the ladder.
SELECT run, size, seed, layers, present
FROM runs
WHERE residual = 'sandwich' AND readouts IN ('none', 'probes') AND algorithms = '{}'
ORDER BY section = 'ladder', size, layers, seed, readouts, run
