-- Judged on the baseline: R2 must lie above 0, above that before training and, of three layers and more, above that with the
-- layers in another order; that of gate_proj above 0 and above that of every other kind; perplexity must rise with one layer replaced, and
-- further with three of ten. Noise is that of view anatomy_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Weights of a layer are predicted from its neighbours'', better than by chance', 'R2 0.91'),
    (2, 'Those of gate_proj best', 'R2 0.909'),
    (3, 'Replacing one layer by its prediction costs perplexity', '+16 % (22.60 to 26.22)'),
    (4, 'Replacing three layers of ten costs far more', 'above 100,000 with 9 of 30 layers')
),
found AS (
    SELECT statistic, mean, noise FROM anatomy_findings
    WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
wide AS (
    SELECT max(mean) FILTER (statistic = 'r2') AS r2, max(mean) FILTER (statistic = 'r2_initial') AS initial,
        max(mean) FILTER (statistic = 'r2_shuffled') AS shuffled, max(mean) FILTER (statistic = 'gate_r2') AS gate,
        max(mean) FILTER (statistic = 'one_replaced') AS one, max(mean) FILTER (statistic = 'third_over_one') AS more
    FROM found
),
said (position, measured) AS (
    SELECT 1, format('{:.3f}; {:.3f} before training', r2, initial)
        || coalesce(format(', {:.3f} in another order', shuffled), '') FROM wide
    UNION ALL SELECT 2, format('{:.3f}', gate) FROM wide
    UNION ALL SELECT 3, in_percent(one) FROM wide
    UNION ALL SELECT 4, format('{} after {}', in_percent(one + more), in_percent(one)) FROM wide
),
counted (position, statistic) AS (VALUES
    (1, 'r2'), (1, 'r2_over_initial'), (1, 'r2_over_shuffled'), (2, 'gate_r2'), (2, 'gate_r2_lead'),
    (3, 'one_replaced'), (4, 'third_over_one')
),
judged AS (
    SELECT position, judged(list(mean ORDER BY statistic), list(noise ORDER BY statistic)) AS holds
    FROM counted JOIN found USING (statistic) GROUP BY position
)
SELECT position, quantity, published, CASE WHEN holds IS NOT NULL THEN measured END AS measured,
    coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN said USING (position) LEFT JOIN judged USING (position)
ORDER BY position
