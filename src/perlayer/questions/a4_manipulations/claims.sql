-- Judged on the baseline: the least that another manipulation at full strength does to log-perplexity must exceed what
-- scaling by 0.9 does by more than the noise of view anatomy_findings; means over the manipulated layers.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Only scaling by 0.9 preserves quality', '+19 %; the other four up to millions of %')
),
found AS (
    SELECT max(mean) FILTER (statistic = 'scaled') AS scaled, max(mean) FILTER (statistic = 'scale_lead') AS lead,
        max(noise) FILTER (statistic = 'scale_lead') AS noise
    FROM anatomy_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
)
SELECT position, quantity, published,
    CASE WHEN lead IS NOT NULL
        THEN format('{}; the least other {}', in_percent(scaled), in_percent(scaled + lead)) END AS measured,
    CASE WHEN lead IS NULL THEN 'no run' ELSE judged([lead], [noise]) END AS holds
FROM published CROSS JOIN found
ORDER BY position
