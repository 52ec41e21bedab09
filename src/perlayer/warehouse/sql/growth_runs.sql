-- Layers are not supervised, and nothing but growth, the number of updates and the seed differs from the baseline of a
-- design and depth. Of uniform training every update is one of the whole model.
CREATE VIEW growth_runs AS
WITH spent AS (SELECT run, sum(cost * (last_step - first_step + 1)) AS compute FROM growth_stages GROUP BY run)
SELECT run, residual, layers, full_depth, concat_ws(', ',
        coalesce(growth, 'uniform'),
        CASE WHEN residual <> 'sandwich' THEN design_name(residual) END,
        CASE WHEN NOT full_depth THEN format('{} layers', layers) END) AS way,
    uniform, seed, steps, CASE WHEN uniform THEN steps ELSE coalesce(compute, steps) END AS compute, val_loss
FROM (
    SELECT *, growth IS NULL AS uniform
    FROM recipe_runs
    WHERE present AND readouts IN ('none', 'probes') AND changes IN ('', 'growth', 'growth, steps', 'steps')
)
LEFT JOIN spent USING (run)
QUALIFY row_number() OVER (PARTITION BY way, seed, steps, compute ORDER BY NOT standard, readouts, ema, run) = 1;
COMMENT ON VIEW growth_runs IS 'Growth training and uniform training, one run a design, depth, seed and budget';
COMMENT ON COLUMN growth_runs.way IS 'uniform, or how growth training goes about it; with the design and depth where those are not the recipe''s';
COMMENT ON COLUMN growth_runs.uniform IS 'Whether all layers train all the time';
COMMENT ON COLUMN growth_runs.compute IS 'What training cost, in updates of the whole model';
