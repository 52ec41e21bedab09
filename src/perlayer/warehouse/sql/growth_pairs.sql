-- Uniform runs of one design, depth and seed and of as many steps; of as much compute, within 2 %; and longer ones, of
-- which growth takes 35 to 65 % of the steps (the source: 63 %).
CREATE VIEW growth_pairs AS
WITH pairs AS (
    SELECT growth.run, baseline.run AS baseline, residual, layers, growth.full_depth, growth.way, seed, growth.steps,
        growth.compute,
        baseline.steps AS baseline_steps, baseline.compute AS baseline_compute, growth.val_loss,
        baseline.val_loss AS baseline_loss, growth.val_loss - baseline.val_loss AS difference
    FROM growth_runs AS growth JOIN growth_runs AS baseline USING (residual, layers, seed)
    WHERE NOT growth.uniform AND baseline.uniform
)
SELECT 'equal steps' AS budget, * FROM pairs WHERE steps = baseline_steps
UNION ALL
SELECT 'equal compute', * FROM pairs WHERE abs(compute / baseline_compute - 1) <= 0.02
UNION ALL
SELECT 'half the budget', * FROM pairs WHERE steps BETWEEN 0.35 * baseline_steps AND 0.65 * baseline_steps
QUALIFY row_number() OVER (PARTITION BY run ORDER BY baseline_steps DESC) = 1;
COMMENT ON VIEW growth_pairs IS 'Growth training beside uniform training of the same seed';
COMMENT ON COLUMN growth_pairs.budget IS 'What both have in common: equal steps, equal compute, or that growth has about half the budget';
COMMENT ON COLUMN growth_pairs.run IS 'The run with growth training';
COMMENT ON COLUMN growth_pairs.baseline IS 'The uniform run';
COMMENT ON COLUMN growth_pairs.residual IS 'The residual design of both';
COMMENT ON COLUMN growth_pairs.layers IS 'How many layers both have';
COMMENT ON COLUMN growth_pairs.way IS 'How growth training goes about it';
COMMENT ON COLUMN growth_pairs.seed IS 'The seed of both';
COMMENT ON COLUMN growth_pairs.steps IS 'Updates of growth training';
COMMENT ON COLUMN growth_pairs.compute IS 'What they cost, in updates of the whole model';
COMMENT ON COLUMN growth_pairs.baseline_steps IS 'Updates of uniform training';
COMMENT ON COLUMN growth_pairs.baseline_compute IS 'What they cost, in updates of the whole model';
COMMENT ON COLUMN growth_pairs.val_loss IS 'Validation loss of growth training at the end, nats per token';
COMMENT ON COLUMN growth_pairs.baseline_loss IS 'The same of uniform training';
COMMENT ON COLUMN growth_pairs.difference IS 'The first minus the second';
