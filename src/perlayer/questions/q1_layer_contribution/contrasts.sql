-- Each published claim about the contribution of every layer: final training losses, nats per token, over seeds. The gap of
-- a layer is its loss above that of the depth-matched baseline. What compares layers within a run is worked out in the run.
WITH
losses AS (FROM losses_by_seed WHERE rung IS NULL AND residual = 'sandwich' AND standard),
layers AS (
    SELECT unnest(range(1, layers + 1)) AS layer, layers AS last
    FROM (SELECT max(layers) AS layers FROM recipe_runs WHERE full_depth)
),
setups AS (SELECT unnest(['probes', 'separate', 'shared', 'shared_stop_gradient']) AS setup),
-- A layer that nothing has read has no run.
baselines AS (
    SELECT layers.layer, last, "group", run, loss AS value, pool
    FROM layers LEFT JOIN losses ON plain AND losses.layers = layers.layer AND losses.layer = layers.layer
),
heads AS (
    SELECT setup, layers.layer, last, "group", run, loss AS value, pool
    FROM setups CROSS JOIN layers
    LEFT JOIN losses ON readouts = setup AND full_depth AND losses.layer = layers.layer
),
gaps AS (
    SELECT setup, layer, last, 1.0 AS coefficient, "group", run, value, pool FROM heads
    UNION ALL
    SELECT setup, layer, last, -1.0, "group", run, value, pool FROM baselines CROSS JOIN setups
),
ends AS (SELECT unnest(['first', 'last']) AS which),
middle AS (
    SELECT which, 1.0 AS coefficient, any_value("group") AS "group", run,
        avg(value) FILTER (layer > 1 AND layer < last)
            - any_value(value) FILTER (layer = CASE which WHEN 'first' THEN 1 ELSE last END) AS value,
        format('middle layers minus {} by separate', which) AS pool
    FROM heads CROSS JOIN ends WHERE setup = 'separate' GROUP BY which, run
    UNION ALL
    SELECT which, CASE WHEN layer = CASE which WHEN 'first' THEN 1 ELSE last END THEN 1.0 ELSE 1 / (2.0 - last) END,
        "group", run, value, pool
    FROM baselines CROSS JOIN ends
    WHERE layer > 1 AND layer < last OR layer = CASE which WHEN 'first' THEN 1 ELSE last END
),
costs AS (SELECT * FROM gaps WHERE layer = last),
parts AS (
    SELECT 'depth' AS claim, format('layer {}', layer) AS part, 'below' AS side, coefficient, "group", run, value, pool
    FROM (
        SELECT layer, 1.0 AS coefficient, "group", run, value, pool FROM baselines WHERE layer > 1
        UNION ALL
        SELECT layer + 1, -1.0, "group", run, value, pool FROM baselines WHERE layer < last
    )
    UNION ALL
    SELECT 'probes_early', format('layer {}', layer), 'above', coefficient, "group", run, value, pool
    FROM gaps WHERE setup = 'probes' AND layer <= last / 2
    UNION ALL
    SELECT 'probes_close', format('layer {}', layer), CASE WHEN layer = last THEN 'within' ELSE 'above' END,
        coefficient, "group", run, value, pool
    FROM gaps WHERE setup = 'probes' AND layer >= last - 1
    UNION ALL
    SELECT setup || '_every', format('layer {}', layer), 'above', coefficient, "group", run, value, pool
    FROM gaps WHERE setup IN ('separate', 'shared')
    UNION ALL
    SELECT 'separate_middle', format('middle minus {} layer', which), 'below', coefficient, "group", run, value, pool
    FROM middle
    UNION ALL
    SELECT 'separate_shallower', 'last layer', 'above', coefficient, "group", run, value, pool
    FROM (
        SELECT coefficient, "group", run, value, pool FROM costs WHERE setup = 'separate' AND coefficient > 0
        UNION ALL
        SELECT -1.0, "group", run, value, pool FROM baselines WHERE layer = last - 2
    )
    UNION ALL
    SELECT setup || '_cost', 'last layer', 'above', coefficient, "group", run, value, pool
    FROM costs WHERE setup <> 'probes'
    UNION ALL
    SELECT 'order', less || ' below ' || more, 'above', CASE setup WHEN more THEN 1.0 ELSE -1.0 END, "group", run, value,
        pool
    FROM costs
    JOIN (VALUES ('separate', 'shared'), ('shared', 'shared_stop_gradient')) AS orders (less, more)
        ON setup IN (less, more)
    WHERE coefficient > 0
)
SELECT claim, part, side, 0.0 AS threshold, coefficient, "group", run, value, pool FROM parts
