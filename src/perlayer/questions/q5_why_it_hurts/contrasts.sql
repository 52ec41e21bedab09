-- Each published sign of what supervision does to the last layer. What it costs is a part a group of runs, named after it;
-- how the loss goes over training, and how gradients lie, is one number a run.
WITH
of_recipe AS (FROM recipe_runs WHERE residual = 'sandwich' AND full_depth),
ways AS (
    SELECT run AS subject, CASE
        WHEN standard AND readouts = 'separate' THEN 'separate'
        WHEN standard AND readouts = 'shared' THEN 'shared'
        WHEN readouts = 'separate' AND schedule_kind = 'threshold' THEN 'Deeply-Supervised Nets'
        WHEN readouts = 'shared' AND schedule_kind = 'linear_to_zero' AND weighted_layers = 1 THEN 'LLAL'
        WHEN readouts = 'shared' AND weighting = 'uniform 1'
            AND ends <= 0.05 * (SELECT max(steps) FROM of_recipe) THEN 'switched off'
        END AS way
    FROM of_recipe
    WHERE run = seed_group AND reach = 'all below' AND surgery = 'none' AND layer_dropout = 'none' AND other = ''
),
costs AS (
    SELECT claim, coalesce(subject, way) AS part, side, coefficient, "group", cost_terms.run, value, pool
    FROM (VALUES
        ('cost', 'separate', 'above'), ('cost', 'shared', 'above'),
        ('switched_off', 'switched off', 'within'), ('switched_off', 'shared', 'above'),
        ('llal', 'LLAL', 'below'), ('deeply_supervised', 'Deeply-Supervised Nets', 'below')
    ) AS claimed (claim, way, side)
    LEFT JOIN ways USING (way) LEFT JOIN cost_terms USING (subject)
),
-- The last layer over the same steps as the smoothed curves of the figures have.
windows AS (
    SELECT run, 'growth' AS quantity,
        avg(loss) FILTER (step > steps - width)
            - avg(loss) FILTER (step <= steps // 5 AND step > steps // 5 - width) AS value
    FROM of_recipe JOIN curves USING (run)
    CROSS JOIN LATERAL (SELECT least(50, ceil(steps / 20)) AS width)
    WHERE layer = layers AND readout = 'head' GROUP BY run
),
cosines AS (
    SELECT run, 'gradients' AS quantity, avg(summed_cosine) AS value
    FROM gradient_cosines WHERE backbone_layer IS NULL AND summed_cosine IS NOT NULL GROUP BY run
),
numbers AS (
    SELECT CASE WHEN plain THEN 'baseline' ELSE readouts END AS setup, quantity, backbone AS "group", run, value,
        format('{}, last layer, {}', quantity, size) AS pool
    FROM of_recipe JOIN (FROM windows UNION ALL FROM cosines) USING (run) WHERE standard AND present
),
compared AS (
    SELECT *
    FROM (VALUES
        ('growth', 'growth', [1.0, -1.0]), ('gradients', 'gradients', [1.0]), ('counterfactual', 'gradients', [1.0, -1.0])
    ) AS claimed (claim, quantity, coefficients)
    CROSS JOIN (VALUES ('separate'), ('shared')) AS setups (part)
),
terms AS (SELECT *, unnest(coefficients) AS coefficient FROM compared)
SELECT claim, part, side, 0.0 AS threshold, coefficient, "group", run, value, pool FROM costs
UNION ALL
SELECT claim, part, 'above', 0.0, coefficient, "group", run, value, pool
FROM terms LEFT JOIN numbers
    ON numbers.quantity = terms.quantity AND setup = CASE WHEN coefficient > 0 THEN part ELSE 'baseline' END
