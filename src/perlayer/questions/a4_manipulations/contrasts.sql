-- The published claim about manipulations, over text, in the baseline's run of the lowest seed, a part a kind: what it does
-- the whole way to log-perplexity minus what scaling by 0.9 does, mean over the manipulated layers.
SELECT 'scaling' AS claim, replace(kind, '_', ' ') AS part, 'above' AS side, 0.0 AS threshold, 1.0 AS coefficient,
    run AS "group", run, value, NULL AS pool, low, high, covers
FROM (SELECT unnest(manipulation_kinds()) AS kind)
LEFT JOIN (FROM baseline_estimates WHERE statistic = 'over_scaling') ON part = kind
WHERE kind <> 'scale'
