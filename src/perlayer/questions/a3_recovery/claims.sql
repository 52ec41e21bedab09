-- Judged on the baseline's run of the lowest seed, by Spearman's rank correlation over its layers: it holds if an order by
-- chance gives one as high in fewer than 5 of 100 cases, and is denied if it gives one as low in fewer than 5.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Layers that matter more take longer to recover', 'yes; L8 and L11 take 200 updates, L14 none')
),
found AS (
    SELECT max(rho) AS rho, max(p) AS p, max(p_low) AS p_low, any_value(layers) AS layers
    FROM recovery_orders JOIN anatomy_runs USING (run)
    WHERE residual = 'sandwich' AND setup = 'baseline' AND full_depth AND run = lead
)
SELECT position, quantity, published,
    CASE WHEN rho IS NOT NULL THEN format('rank correlation {:+.2f} (p {:.3f}, {} layers)', rho, p, layers) END
        AS measured,
    CASE WHEN rho IS NULL THEN 'no run' WHEN p < 0.05 THEN 'yes' WHEN p_low < 0.05 THEN 'no' ELSE 'within noise' END
        AS holds
FROM published CROSS JOIN found
ORDER BY position
