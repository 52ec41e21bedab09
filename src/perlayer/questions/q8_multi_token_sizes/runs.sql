-- The runs of the question: those with multi-token prediction and plain ones, at the size in use and at rungs.
SELECT run, size, coalesce(multi_token, 'plain') AS later_tokens, seed, layers, present
FROM runs
WHERE residual = 'sandwich' AND full_depth
    AND (plain OR changes = 'multi_token_prediction' AND readouts IN ('none', 'probes'))
ORDER BY rung IS NOT NULL, size, multi_token IS NOT NULL, multi_token, seed, run
