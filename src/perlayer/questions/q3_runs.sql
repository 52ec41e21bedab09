-- The runs of the question: every design plain and with separate heads, and the sandwich design's ordinary models.
SELECT run, residual, CASE WHEN readouts = 'none' THEN 'plain' ELSE readouts END AS setup, seed, layers, present
FROM recipe_runs
WHERE algorithms = '{}' AND (
    full_depth AND readouts IN ('none', 'probes', 'separate')
    OR residual = 'sandwich' AND readouts IN ('none', 'probes') AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
)
ORDER BY design_place(residual), residual, full_depth DESC, layers, readouts, seed, run
