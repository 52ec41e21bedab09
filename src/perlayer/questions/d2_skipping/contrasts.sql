-- Each published claim about what skipping layers changes, over seeds of the baseline: logarithms of what it is for the
-- second half of the layers over the first, of which less than 5 % is none. Halves leave out layer 1 and the last layer.
WITH parts (claim, part, statistic) AS (VALUES
    ('later_layers', 'second half over first', 'future_effect_log_ratio'),
    ('future_tokens', 'second half over first', 'future_output_log_ratio'),
    ('future_share', 'second half over first', 'future_share_log_ratio')
)
SELECT claim, part, 'below' AS side, 0.0 AS threshold, 1.0 AS coefficient, "group", run, value, pool,
    0.05 AS smallest_effect
FROM parts LEFT JOIN baseline_statistics USING (statistic)
