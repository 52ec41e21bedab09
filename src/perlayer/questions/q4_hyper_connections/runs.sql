-- The runs of the question: every design plain, which probes leave it, and with separate heads.
SELECT run, residual, CASE WHEN readouts = 'separate' THEN 'separate' ELSE 'plain' END AS setup, seed, layers, present
FROM recipe_runs
WHERE full_depth AND standard AND readouts IN ('none', 'probes', 'separate')
ORDER BY design_place(residual), residual, setup, seed, run
