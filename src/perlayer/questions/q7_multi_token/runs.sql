-- The runs of the question: those with multi-token prediction, and plain ones whose layers are read by probes.
SELECT run, CASE WHEN way IS NULL THEN 'plain' ELSE way END AS later_tokens, runs.seed, runs.layers, runs.present
FROM recipe_runs AS runs LEFT JOIN (SELECT run, way FROM multi_token_runs) USING (run)
WHERE runs.residual = 'sandwich' AND full_depth AND (way IS NOT NULL OR readouts = 'probes' AND standard)
ORDER BY way IS NOT NULL, way, seed, run
