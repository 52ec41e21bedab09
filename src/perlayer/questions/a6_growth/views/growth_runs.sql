-- Layers are not supervised, and nothing but growth, the number of updates and the seed differs from the baseline of a
-- design and depth. Of uniform training every update is one of the whole model.
CREATE VIEW growth_runs AS
WITH spent AS (SELECT run, sum(cost * (last_step - first_step + 1)) AS compute FROM growth_stages GROUP BY run)
SELECT backbone AS "group", run, size, residual, layers, full_depth, concat_ws(', ',
        coalesce(growth, 'uniform'),
        CASE WHEN residual <> 'sandwich' THEN design_name(residual) END,
        CASE WHEN NOT full_depth THEN format('{} layers', layers) END) AS method,
    growth IS NULL AS uniform, seed, steps, coalesce(compute, steps) AS compute, val_loss
FROM recipe_runs LEFT JOIN spent USING (run)
WHERE present AND readouts IN ('none', 'probes') AND changes IN ('', 'growth', 'growth, steps', 'steps')
QUALIFY row_number() OVER (PARTITION BY "group", seed ORDER BY readouts, ema, run) = 1;
COMMENT ON VIEW growth_runs IS 'Growth training and uniform training, one run a design, depth, budget and seed';
COMMENT ON COLUMN growth_runs."group" IS 'Runs that differ in nothing but seed or what looks on, named after the one of the lowest seed';
COMMENT ON COLUMN growth_runs.method IS 'uniform, or how growth training goes about it; with the design and depth where those are not the recipe''s';
COMMENT ON COLUMN growth_runs.uniform IS 'Whether all layers train all the time';
COMMENT ON COLUMN growth_runs.compute IS 'What training cost, in updates of the whole model';
