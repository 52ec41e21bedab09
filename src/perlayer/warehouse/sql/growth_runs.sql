-- Uniform runs differ from the baseline in seed and number of updates alone; every update is one of the whole model.
CREATE VIEW growth_runs AS
WITH spent AS (SELECT run, sum(cost * (last_step - first_step + 1)) AS compute FROM growth_stages GROUP BY run)
SELECT run, CASE WHEN uniform THEN 'uniform' ELSE section(growth, 'protocol', 'stages written out') END AS way, uniform,
    seed, steps, CASE WHEN uniform THEN steps ELSE coalesce(compute, steps) END AS compute, val_loss
FROM (
    SELECT *, json_extract(algorithms, '$.growth') AS growth,
        readouts IN ('none', 'probes') AND list_has_all(['steps'], json_keys(algorithms)) AS uniform
    FROM runs WHERE present AND section IN ('runs', 'growth') AND residual = 'sandwich' AND full_depth
)
LEFT JOIN spent USING (run)
WHERE uniform OR growth IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY way, seed, steps, compute ORDER BY section DESC, readouts, ema, run) = 1;
COMMENT ON VIEW growth_runs IS 'Growth training and uniform training of the recipe''s design and depth, one run a seed and budget';
COMMENT ON COLUMN growth_runs.run IS 'The run';
COMMENT ON COLUMN growth_runs.way IS 'uniform, or how growth training goes about it';
COMMENT ON COLUMN growth_runs.uniform IS 'Whether all layers train all the time';
COMMENT ON COLUMN growth_runs.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN growth_runs.steps IS 'Updates';
COMMENT ON COLUMN growth_runs.compute IS 'What training cost, in updates of the whole model';
COMMENT ON COLUMN growth_runs.val_loss IS 'Validation loss of the last layer at the end, nats per token';
