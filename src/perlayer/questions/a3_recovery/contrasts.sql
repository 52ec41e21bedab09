-- The published claim about recovery, over seeds of the baseline: Spearman's rank correlation over the layers of a run of how
-- late they recover with their importance. It moves in steps; layers that all recover alike have no order, and less than
-- 0.1 is none.
WITH orders AS (
    SELECT 'order' AS claim, backbone AS "group", run, layers, coalesce(rho, 0) AS value,
        format('recovery with importance, {} layers, {}', layers, size) AS pool
    FROM (SELECT run FROM anatomy_runs WHERE label = 'baseline')
    JOIN (SELECT DISTINCT run FROM recoveries) USING (run)
    JOIN recipe_runs USING (run)
    LEFT JOIN recovery_orders USING (run)
    WHERE layers > 1
)
SELECT claim, 'rank correlation' AS part, 'above' AS side, 0.0 AS threshold, 1.0 AS coefficient, "group", run, value, pool,
    0.1 AS smallest_effect, 12 / (layers::BIGINT * (layers * layers - 1)) AS step
FROM (VALUES ('order')) AS claims (claim) LEFT JOIN orders USING (claim)
