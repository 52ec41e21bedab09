-- Each published claim about retrained readouts: held-out losses, nats per token. What retraining changes in one model is
-- a number over text; what compares probes with separate heads is over seeds, of the runs that have been retrained.
WITH
layers AS (
    SELECT unnest(range(1, layers + 1)) AS layer, layers AS last
    FROM (SELECT greatest(max(layers), 2) AS layers FROM recipe_runs WHERE full_depth)
),
setups AS (SELECT unnest(['probes', 'separate']) AS setup),
-- A layer that nothing has read has no run.
readings AS (
    SELECT setups.setup, layers.layer, last, seed_group AS "group", run, seed, size, before, after, change, standard_error
    FROM setups CROSS JOIN layers
    LEFT JOIN (
        SELECT * FROM retraining JOIN recipe_runs USING (run)
        WHERE residual = 'sandwich' AND full_depth AND standard
    ) AS retrained ON readouts = setups.setup AND retrained.layer = layers.layer
),
-- What is claimed of each layer above 0, each number of one run: of probes minus of separate heads.
sums AS (
    SELECT 'probes_barely_move' AS claim, format('layer {}, {}', layer, way) AS part, setup, "group", run,
        CASE WHEN setup = 'separate' THEN before WHEN way = 'up' THEN before - change ELSE before + change END AS value,
        format('layer {} of {} by {} before retraining{}, {}', layer, last, setup,
            CASE WHEN setup = 'probes' THEN ', less the change ' || way ELSE '' END, size) AS pool
    FROM readings CROSS JOIN (SELECT unnest(['up', 'down']) AS way) WHERE layer < last
    UNION ALL
    SELECT 'probes_worse', format('layer {}', layer), setup, "group", run, after,
        format('layer {} of {} by retrained {}, {}', layer, last, setup, size)
    FROM readings WHERE layer <= last / 2
    UNION ALL
    SELECT 'features', 'gap after minus half of that before', setup, any_value("group"), run, avg(after - before / 2),
        format('mean of layers below {} by retrained {} less half of that before, {}', last, setup, size)
    FROM readings WHERE layer < last GROUP BY setup, run, last, size
)
SELECT claim, part, 'above' AS side, 0.0 AS threshold, CASE setup WHEN 'probes' THEN 1.0 ELSE -1.0 END AS coefficient,
    "group", run, value, pool, NULL AS standard_error, NULL AS covers
FROM sums
UNION ALL
SELECT 'separate_higher', format('layer {}', layer), 'above', 0.0, 1.0, "group", run, change, NULL, standard_error, 'text'
FROM readings WHERE setup = 'separate'
QUALIFY row_number() OVER (PARTITION BY layer ORDER BY seed, run) = 1
