-- Each published claim about until which layer tokens matter, over seeds of the baseline, in layers, of which less than a
-- sixth of the depth is none.
WITH parts (claim, part, statistic) AS (VALUES
    ('erasure_middle', 'mean token', 'erasure_depth'),
    ('erasure_flat', 'last token minus first', 'erasure_rise'),
    ('attribution_flat', 'last token minus first', 'attribution_rise')
)
SELECT claim, part, 'within' AS side, CASE WHEN claim = 'erasure_middle' THEN layers / 2 ELSE 0 END AS threshold,
    1.0 AS coefficient, "group", run, value, pool, layers / 6 AS smallest_effect
FROM parts LEFT JOIN baseline_statistics USING (statistic)
