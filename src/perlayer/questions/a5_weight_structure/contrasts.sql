-- Each published claim about changes of weights, means over layers and kinds of matrix beside random controls, in the
-- baseline's run of the lowest seed. Less than 0.02 is none.
WITH parts (claim, named, statistic) AS (VALUES
    ('negative', 'unrelated changes', 'delta_correlation'),
    ('structure', 'independent layers', 'delta_excess')
)
SELECT claim, 'beside ' || named AS part, 'below' AS side, 0.0 AS threshold, 1.0 AS coefficient, run AS "group", run, value,
    NULL AS pool, 0.02 AS smallest_effect, low, high, covers
FROM parts LEFT JOIN baseline_estimates USING (statistic)
