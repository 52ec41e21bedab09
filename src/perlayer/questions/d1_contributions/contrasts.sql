-- Each published claim about what layers add, over seeds of the baseline: logarithms of ratios, and cosines. A part is one
-- number of depth_statistics; a ratio of less than 5 %, or a cosine of less than 0.02, is none.
WITH parts (claim, part, side, statistic, smallest_effect) AS (VALUES
    ('layers', 'layers', 'below', 'layer_log_ratio', 0.05),
    ('attention', 'attention', 'below', 'attention_log_ratio', 0.05),
    ('attention_most', 'attention over MLP', 'below', 'attention_over_mlp', 0.05),
    ('middle_fall', 'near the middle', 'above', 'middle_log_drop', 0.05),
    ('middle_fall', 'more than elsewhere', 'above', 'middle_over_other_drop', 0.05),
    ('cosine', 'before the middle', 'below', 'cosine_before_middle', 0.02),
    ('cosine', 'after the middle', 'above', 'cosine_after_middle', 0.02)
)
SELECT claim, part, side, 0.0 AS threshold, 1.0 AS coefficient, "group", run, value, pool,
    smallest_effect AS smallest_effect
FROM parts LEFT JOIN baseline_statistics USING (statistic)
