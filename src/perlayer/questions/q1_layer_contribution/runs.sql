-- The runs of the question, by what they show: the recipe's own design, at most as deep, without algorithms; one of those
-- that differ in what looks on alone.
SELECT run,
    CASE WHEN NOT full_depth AND readouts IN ('none', 'probes') THEN 'depth_matched'
        WHEN readouts = 'none' THEN 'baseline' ELSE readouts END AS setup,
    seed, layers, present
FROM recipe_runs
WHERE residual = 'sandwich' AND standard AND (full_depth OR readouts IN ('none', 'probes'))
    AND counts AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
ORDER BY run
