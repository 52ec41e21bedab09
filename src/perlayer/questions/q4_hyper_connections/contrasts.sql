-- That Hyper-Connections pays about half is published as still being tested: the order is judged, and that it pays.
WITH designs AS (
    SELECT residual, seed_group AS subject
    FROM (VALUES ('hyper_connections'), ('sandwich')) AS designs (residual)
    LEFT JOIN (FROM recipe_runs WHERE full_depth AND standard AND readouts = 'separate' AND seed_group = run)
        USING (residual)
),
costs AS (SELECT residual, cost_terms.* FROM designs LEFT JOIN cost_terms USING (subject))
SELECT 'less' AS claim, 'Hyper-Connections minus Sandwich-LN' AS part, 'below' AS side, 0.0 AS threshold,
    CASE residual WHEN 'sandwich' THEN -coefficient ELSE coefficient END AS coefficient, "group", run, value, pool
FROM costs
UNION ALL
SELECT 'pays', 'Hyper-Connections', 'above', 0.0, coefficient, "group", run, value, pool
FROM costs WHERE residual = 'hyper_connections'
