-- The runs of the question: of each setup those that a lens has read, or that which none has.
SELECT run, CASE WHEN readouts = 'none' THEN 'baseline' ELSE readouts END AS setup, seed, layers,
    run IN (SELECT run FROM lenses) AS present
FROM recipe_runs
WHERE residual = 'sandwich' AND full_depth AND standard
QUALIFY run IN (SELECT run FROM lenses)
    OR row_number() OVER (PARTITION BY readouts ORDER BY run IN (SELECT run FROM lenses) DESC, seed, run) = 1
ORDER BY array_position(['none', 'probes', 'separate', 'shared', 'shared_stop_gradient'], readouts), seed, run
