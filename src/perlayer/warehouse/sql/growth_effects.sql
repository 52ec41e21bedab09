-- With fewer than three pairs nothing counts as more than noise that is less than how far uniform runs of one budget end
-- apart.
CREATE VIEW growth_effects AS
WITH floors AS (
    SELECT residual, layers, max(spread) AS floor FROM (
        SELECT residual, layers, max(val_loss) - min(val_loss) AS spread FROM growth_runs
        WHERE uniform GROUP BY residual, layers, steps HAVING count(*) > 1
    ) GROUP BY residual, layers
)
SELECT budget, residual, layers, full_depth, way, min_by(run, seed) AS run, steps, avg(compute) AS compute,
    baseline_steps, avg(baseline_compute) AS baseline_compute, count(*) AS pairs, avg(val_loss) AS val_loss,
    avg(baseline_loss) AS baseline_loss, avg(difference) AS mean_difference,
    stddev_samp(difference) / sqrt(count(*)) AS standard_error,
    greatest(CASE WHEN count(*) < 3 THEN any_value(floor) END, 3 * standard_error) AS noise
FROM growth_pairs LEFT JOIN floors USING (residual, layers)
GROUP BY budget, residual, layers, full_depth, way, steps, baseline_steps;
COMMENT ON VIEW growth_effects IS 'What growth training changes in the validation loss, by what it has in common with uniform training: means over pairs of one seed';
COMMENT ON COLUMN growth_effects.budget IS 'equal steps, equal compute or half the budget';
COMMENT ON COLUMN growth_effects.residual IS 'The residual design of both';
COMMENT ON COLUMN growth_effects.layers IS 'How many layers both have';
COMMENT ON COLUMN growth_effects.way IS 'How growth training goes about it; with the design and depth where those are not the recipe''s';
COMMENT ON COLUMN growth_effects.run IS 'Its run of the lowest seed';
COMMENT ON COLUMN growth_effects.steps IS 'Its updates';
COMMENT ON COLUMN growth_effects.compute IS 'What they cost, in updates of the whole model, mean';
COMMENT ON COLUMN growth_effects.baseline_steps IS 'Updates of uniform training';
COMMENT ON COLUMN growth_effects.baseline_compute IS 'What those cost, mean';
COMMENT ON COLUMN growth_effects.pairs IS 'How many pairs of one seed';
COMMENT ON COLUMN growth_effects.val_loss IS 'Validation loss of growth training at the end, nats per token, mean';
COMMENT ON COLUMN growth_effects.baseline_loss IS 'The same of uniform training';
COMMENT ON COLUMN growth_effects.mean_difference IS 'The first minus the second';
COMMENT ON COLUMN growth_effects.standard_error IS 'Its standard error; null for one pair';
COMMENT ON COLUMN growth_effects.noise IS 'What counts as noise in it: three standard errors, with fewer than three pairs never less than how far uniform runs end apart; null where nothing tells';
