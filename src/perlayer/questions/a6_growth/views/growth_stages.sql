-- What an update costs is logged at the first of each stage.
CREATE VIEW growth_stages AS
SELECT run, step AS first_step, coalesce(lead(step) OVER (PARTITION BY run ORDER BY step) - 1, steps) AS last_step,
    value AS cost
FROM layer_metrics JOIN (SELECT run, steps FROM runs WHERE steps IS NOT NULL) USING (run)
WHERE metric = 'compute';
COMMENT ON VIEW growth_stages IS 'The stages of growth training';
COMMENT ON COLUMN growth_stages.first_step IS 'Its first update';
COMMENT ON COLUMN growth_stages.last_step IS 'Its last update';
COMMENT ON COLUMN growth_stages.cost IS 'What one of them costs, in updates of the whole model';
