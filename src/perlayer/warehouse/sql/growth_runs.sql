-- The cost of an update is logged at the first one of each stage; where none is, every update is of the whole model. A
-- uniform run may take fewer updates than its recipe.
CREATE VIEW growth_runs AS
WITH mine AS (
    SELECT *, algorithms IN ('{}', json_object('steps', json_extract(algorithms, '$.steps'))) AS is_uniform,
        json_extract(algorithms, '$.growth') AS growth
    FROM runs WHERE present AND section IN ('runs', 'growth') AND residual = 'sandwich' AND full_depth
),
stages AS (
    SELECT run, value, lead(step, 1, steps + 1) OVER (PARTITION BY run ORDER BY step) - step AS updates
    FROM layer_metrics JOIN mine USING (run) WHERE metric = 'compute'
),
spent AS (SELECT run, sum(value * updates) AS compute FROM stages GROUP BY run)
SELECT run, CASE WHEN is_uniform THEN 'uniform' ELSE in_words(growth) END AS way, is_uniform AS uniform, seed, steps,
    coalesce(compute, steps) AS compute, val_loss
FROM mine LEFT JOIN spent USING (run)
WHERE is_uniform AND readouts IN ('none', 'probes') OR growth IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY way, seed, steps, compute ORDER BY section DESC, readouts, ema, run) = 1;
COMMENT ON VIEW growth_runs IS 'Growth training and uniform training of the recipe''s design and depth, one run a seed and budget';
COMMENT ON COLUMN growth_runs.run IS 'The run';
COMMENT ON COLUMN growth_runs.way IS 'uniform, or how growth training goes about it';
COMMENT ON COLUMN growth_runs.uniform IS 'Whether all layers train all the time';
COMMENT ON COLUMN growth_runs.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN growth_runs.steps IS 'Updates';
COMMENT ON COLUMN growth_runs.compute IS 'What training cost, in updates of the whole model';
COMMENT ON COLUMN growth_runs.val_loss IS 'Validation loss of the last layer at the end, nats per token';
