-- Layers are not supervised, and nothing but growth, the number of updates and the seed differs from the baseline of a
-- design and depth. Of uniform training every update is one of the whole model.
CREATE VIEW growth_runs AS
WITH spent AS (SELECT run, sum(cost * (last_step - first_step + 1)) AS compute FROM growth_stages GROUP BY run)
SELECT run, residual, layers, full_depth, concat_ws(', ',
        CASE WHEN uniform THEN 'uniform' ELSE section(growth, 'protocol', 'stages written out') END,
        CASE WHEN residual <> 'sandwich' THEN design_name(residual) END,
        CASE WHEN NOT full_depth THEN format('{} layers', layers) END) AS way,
    uniform, seed, steps, CASE WHEN uniform THEN steps ELSE coalesce(compute, steps) END AS compute, val_loss
FROM (
    SELECT *, json_extract(algorithms, '$.growth') AS growth, growth IS NULL AS uniform
    FROM runs
    WHERE present AND section IN ('runs', 'growth') AND readouts IN ('none', 'probes')
        AND list_has_all(['steps', 'growth'], json_keys(algorithms))
)
LEFT JOIN spent USING (run)
QUALIFY row_number() OVER (PARTITION BY way, seed, steps, compute ORDER BY section DESC, readouts, ema, run) = 1;
COMMENT ON VIEW growth_runs IS 'Growth training and uniform training, one run a design, depth, seed and budget';
COMMENT ON COLUMN growth_runs.run IS 'The run';
COMMENT ON COLUMN growth_runs.residual IS 'Its residual design';
COMMENT ON COLUMN growth_runs.layers IS 'How many layers it has';
COMMENT ON COLUMN growth_runs.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN growth_runs.way IS 'uniform, or how growth training goes about it; with the design and depth where those are not the recipe''s';
COMMENT ON COLUMN growth_runs.uniform IS 'Whether all layers train all the time';
COMMENT ON COLUMN growth_runs.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN growth_runs.steps IS 'Updates';
COMMENT ON COLUMN growth_runs.compute IS 'What training cost, in updates of the whole model';
COMMENT ON COLUMN growth_runs.val_loss IS 'Validation loss of the last layer at the end, nats per token';
