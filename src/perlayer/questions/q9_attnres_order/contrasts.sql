-- Published as still being tested, without a figure. An order by depth is one that is clearer than chance makes: Kendall's
-- tau of each seed beside the tau at which that ends, half a pair of layers from either side. Of the baseline each step.
WITH
claimed AS (
    FROM (VALUES
        ('full_probes', 'attnres_full', 'probes'), ('full_lens', 'attnres_full', 'logit_lens'),
        ('block_probes', 'attnres_block', 'probes'), ('block_lens', 'attnres_block', 'logit_lens')
    ) AS claimed (claim, residual, readout)
),
steps AS (
    SELECT layer, "group", run, loss - lag(loss) OVER (PARTITION BY run ORDER BY layer) AS value,
        format('held-out step to layer {} of {} by probes, {}', layer, layers, size) AS pool
    FROM depth_losses WHERE residual = 'sandwich' AND readout = 'probes'
),
layers AS (
    SELECT unnest(range(2, greatest(max(layers), 2) + 1)) AS layer FROM recipe_runs WHERE full_depth
)
SELECT claim, 'order by depth' AS part, 'above' AS side, chance AS threshold, 1.0 AS coefficient, "group", run,
    CASE WHEN chance IS NOT NULL THEN tau END AS value,
    format('tau of {} layers by {}, {}', layers, readout, size) AS pool, 2 / pairs AS smallest_effect, 2 / pairs AS step
FROM claimed LEFT JOIN depth_order USING (residual, readout)
UNION ALL
SELECT 'baseline_falls', format('layer {}', layer), 'below', 0.0, 1.0, "group", run, value, pool, NULL, NULL
FROM layers LEFT JOIN steps USING (layer)
