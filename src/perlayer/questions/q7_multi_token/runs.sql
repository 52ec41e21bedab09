-- The runs of the question: those with multi-token prediction, and plain ones whose layers are read by probes.
SELECT run, coalesce(multi_token, 'plain') AS later_tokens, seed, layers, present
FROM recipe_runs
WHERE residual = 'sandwich' AND full_depth
    AND (changes = 'multi_token_prediction' AND readouts IN ('none', 'probes') OR readouts = 'probes' AND standard)
ORDER BY multi_token IS NOT NULL, multi_token, seed, run
