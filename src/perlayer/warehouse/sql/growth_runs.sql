-- Without a metric that says otherwise, every update is one of the whole model.
CREATE VIEW growth_runs AS
WITH spent AS (
    SELECT run, max_by(value, step) AS compute FROM layer_metrics WHERE metric = 'compute' GROUP BY run
)
SELECT run, CASE WHEN plain THEN 'uniform' ELSE in_words(growth) END AS way, plain AS uniform, seed, steps,
    coalesce(compute, steps) AS compute, val_loss
FROM (
    SELECT *, algorithms = '{}' AS plain, json_extract(algorithms, '$.growth') AS growth
    FROM runs WHERE present AND NOT on_ladder AND section IN ('runs', 'growth') AND residual = 'sandwich' AND full_depth
)
LEFT JOIN spent USING (run)
WHERE plain AND readouts IN ('none', 'probes') OR growth IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY way, seed, steps, compute ORDER BY section DESC, readouts, ema, run) = 1;
COMMENT ON VIEW growth_runs IS 'Growth training and uniform training of the recipe''s design and depth, one run a seed and budget';
COMMENT ON COLUMN growth_runs.run IS 'The run';
COMMENT ON COLUMN growth_runs.way IS 'uniform, or how growth training goes about it';
COMMENT ON COLUMN growth_runs.uniform IS 'Whether all layers train all the time';
COMMENT ON COLUMN growth_runs.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN growth_runs.steps IS 'Updates';
COMMENT ON COLUMN growth_runs.compute IS 'What training cost, in updates of the whole model';
COMMENT ON COLUMN growth_runs.val_loss IS 'Validation loss of the last layer at the end, nats per token';
