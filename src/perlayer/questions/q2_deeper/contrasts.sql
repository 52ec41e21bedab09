-- What separate heads cost the last layer, a part a depth; the source has no figure of a trend. It takes two depths.
WITH depths AS (
    SELECT DISTINCT format('{} layers', layers) AS part, seed_group AS subject
    FROM recipe_runs WHERE residual = 'sandwich' AND standard AND readouts = 'separate'
    UNION ALL
    SELECT 'another depth', NULL
    FROM recipe_runs WHERE residual = 'sandwich' AND standard AND readouts = 'separate'
    HAVING count(DISTINCT layers) < 2
)
SELECT 'every_depth' AS claim, part, 'above' AS side, 0.0 AS threshold, coefficient, "group", run, value, pool
FROM depths LEFT JOIN cost_terms USING (subject)
