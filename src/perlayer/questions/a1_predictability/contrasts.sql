-- Each published claim about predicted weights, in the baseline's run of the lowest seed: R2 beside random controls, of which
-- less than 0.01 is none, and changes of log-perplexity over text.
WITH parts (claim, statistic, part, named, smallest_effect) AS (
    FROM (VALUES
        ('predicted', 'r2_beyond_chance', NULL, 'all matrices', 0.01),
        ('one_replaced', 'one_replaced', NULL, 'one layer', NULL),
        ('three_of_ten_replaced', 'three_of_ten_over_one', NULL, 'three of ten over one', NULL)
    )
    UNION ALL
    SELECT 'gate_best', 'gate_lead', kind, 'gate_proj over ' || kind, 0.01
    FROM (SELECT unnest(matrices()) AS kind) WHERE kind <> 'gate_proj'
)
SELECT claim, named AS part, 'above' AS side, 0.0 AS threshold, 1.0 AS coefficient, run AS "group", run, value,
    NULL AS pool, smallest_effect, low, high, covers
FROM parts
LEFT JOIN baseline_estimates AS found
    ON found.statistic = parts.statistic AND found.part IS NOT DISTINCT FROM parts.part
