-- Each published claim about the depth at which the lens comes near the output, over seeds of the baseline: what layers
-- add falls at some layer, by its logarithm, of which less than 5 % is none; and from the layer at which it falls most to
-- the one at which the lens comes near the output it is less than a sixth of the depth. A layer moves in steps of one.
WITH parts (claim, part, side, statistic, smallest_effect, step) AS (VALUES
    ('kl', 'from the fall', 'within', 'kl_beyond_drop', NULL, 1.0),
    ('kl', 'the fall', 'above', 'log_drop', 0.05, NULL),
    ('overlap', 'from the fall', 'within', 'overlap_beyond_drop', NULL, 1.0),
    ('overlap', 'the fall', 'above', 'log_drop', 0.05, NULL)
)
SELECT claim, part, side, 0.0 AS threshold, 1.0 AS coefficient, "group", run, value, pool,
    coalesce(smallest_effect, layers / 6) AS smallest_effect, step
FROM parts LEFT JOIN baseline_statistics USING (statistic)
