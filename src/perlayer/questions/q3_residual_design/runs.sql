-- The runs of the question: every design plain and with separate heads, with and without value residual, and the sandwich
-- design's depth-matched baselines.
SELECT run, residual, value_residual,
    CASE WHEN readouts = 'none' THEN 'plain' ELSE readouts END AS setup, seed, layers, present
FROM recipe_runs
WHERE full_depth AND readouts IN ('none', 'probes', 'separate')
        AND changes IN ('', 'value_residual')
    OR residual = 'sandwich' AND plain
        AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
ORDER BY design_place(residual), residual, value_residual NULLS FIRST, full_depth DESC, layers, readouts, seed, run
