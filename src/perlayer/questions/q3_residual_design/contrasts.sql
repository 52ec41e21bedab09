-- The question is published without a figure. Every design beside the sandwich design, by how far each layer lowers the
-- loss that is read after it, by the last layer, and by what separate heads cost that; a part a design and layer.
WITH
losses AS (
    SELECT losses_by_seed.*, seed_group, size
    FROM losses_by_seed JOIN recipe_runs USING (run)
    WHERE losses_by_seed.full_depth AND losses_by_seed.standard
        AND losses_by_seed.readouts IN ('none', 'probes', 'separate')
),
numbers AS (
    SELECT readouts AS claim, residual, format(', layer {}', layer) AS place, 1.0 AS coefficient,
        seed_group AS "group", run, lag(loss) OVER (PARTITION BY run ORDER BY layer) - loss AS value,
        format('fall at layer {} of {} by {}, {}', layer, layers, readouts, size) AS pool
    FROM losses WHERE readouts <> 'none'
    UNION ALL
    SELECT 'last', residual, '', 1.0, "group", run, loss, pool FROM losses WHERE plain AND layer = layers
    UNION ALL
    SELECT 'cost', residual, '', coefficient, cost_terms."group", cost_terms.run, value, cost_terms.pool
    FROM cost_terms JOIN (SELECT DISTINCT residual, seed_group AS subject FROM losses WHERE readouts = 'separate')
        USING (subject)
),
-- What is expected: of the published designs those that runs name.
named AS (
    SELECT DISTINCT residual, readouts = 'separate' AS separate
    FROM recipe_runs
    WHERE full_depth AND standard AND readouts IN ('none', 'probes', 'separate')
        AND published_design AND residual <> 'sandwich'
),
places AS (
    SELECT claim, format(', layer {}', layer) AS place
    FROM (SELECT unnest(range(2, greatest(max(layers), 2) + 1)) AS layer FROM recipe_runs WHERE full_depth)
    CROSS JOIN (VALUES ('probes'), ('separate')) AS kinds (claim)
    UNION ALL
    VALUES ('last', ''), ('cost', '')
),
parts AS (
    SELECT claim, coalesce(residual, 'another design') AS residual, place
    FROM places LEFT JOIN named ON separate = (claim IN ('separate', 'cost'))
),
sides AS (
    SELECT claim, residual, place, 1.0 AS sign, residual AS of_design FROM parts
    UNION ALL
    SELECT claim, residual, place, -1.0, 'sandwich' FROM parts
)
SELECT claim, coalesce(design_name(sides.residual), sides.residual) || place AS part, 'differs' AS side, 0.0 AS threshold,
    sign * coefficient AS coefficient, "group", run, value, pool
FROM sides LEFT JOIN (SELECT * RENAME (residual AS of_design) FROM numbers) USING (claim, place, of_design)
