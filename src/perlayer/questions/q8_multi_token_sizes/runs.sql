-- The runs of the question: those with multi-token prediction and plain ones, at the size in use and at rungs.
SELECT run, size, CASE WHEN way IS NULL THEN 'plain' ELSE way END AS later_tokens, runs.seed, runs.layers, runs.present
FROM runs LEFT JOIN (SELECT run, way FROM multi_token_runs) USING (run)
WHERE runs.residual = 'sandwich' AND full_depth
    AND (way IS NOT NULL OR plain)
ORDER BY rung IS NOT NULL, size, way IS NOT NULL, way, seed, run
