-- The runs of the question: of each setup those that have been retrained, or that whose retraining is missing.
SELECT run, readouts AS setup, seed, layers, run IN (SELECT run FROM retraining) AS present
FROM recipe_runs
WHERE residual = 'sandwich' AND full_depth AND standard AND readouts IN ('probes', 'separate')
QUALIFY run IN (SELECT run FROM retraining)
    OR row_number() OVER (PARTITION BY readouts ORDER BY run IN (SELECT run FROM retraining) DESC, seed, run) = 1
ORDER BY run
