-- The runs of the question: separate heads of the usual supervision at every depth, and plain runs of those depths.
SELECT run, CASE WHEN readouts = 'separate' THEN 'separate' ELSE 'plain' END AS setup, seed, layers, present
FROM recipe_runs
WHERE residual = 'sandwich' AND standard AND readouts IN ('none', 'probes', 'separate')
    AND layers IN (
        SELECT layers FROM recipe_runs WHERE residual = 'sandwich' AND standard AND readouts = 'separate'
    )
ORDER BY layers, setup, run
