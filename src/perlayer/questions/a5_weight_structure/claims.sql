-- Judged on the baseline by means over layers and kinds of matrix: below 0, and below what independent layers give, by
-- more than the noise of view anatomy_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Consecutive changes of weights correlate below 0', 'about -0.50 in all components'),
    (2, 'That is structure: below what independent layers give', '-0.50, which is what independent layers give')
),
found AS (
    SELECT max(mean) FILTER (statistic = 'delta_correlation') AS mean,
        max(noise) FILTER (statistic = 'delta_correlation') AS noise,
        max(mean) FILTER (statistic = 'delta_correlation_initial') AS initial,
        max(mean) FILTER (statistic = 'delta_excess') AS excess,
        max(noise) FILTER (statistic = 'delta_excess') AS excess_noise
    FROM anatomy_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
)
SELECT position, quantity, published,
    CASE WHEN mean IS NULL THEN NULL WHEN position = 1 THEN format('{:+.3f}; {:+.3f} before training', mean, initial)
        ELSE format('{:+.3f} from {:+.3f}', excess, mean - excess) END AS measured,
    CASE WHEN mean IS NULL THEN 'no run' WHEN position = 1 THEN judged([-mean], [noise])
        ELSE judged([-excess], [excess_noise]) END AS holds
FROM published CROSS JOIN found
ORDER BY position
