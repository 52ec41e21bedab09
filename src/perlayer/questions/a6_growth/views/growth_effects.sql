-- Uniform runs of one design and depth and of as many steps; of as much compute, within 2 %; and longer ones, of which
-- growth takes 35 to 65 % of the steps (the source: 63 %).
CREATE VIEW growth_effects AS
WITH means AS (
    SELECT "group", residual, layers, full_depth, method, uniform, steps, avg(compute) AS compute,
        avg(val_loss) AS val_loss, count(*) AS seeds
    FROM growth_runs GROUP BY ALL
)
SELECT budget, growth.* EXCLUDE (uniform), uniform."group" AS uniform_group, uniform.steps AS uniform_steps,
    uniform.compute AS uniform_compute, uniform.val_loss AS uniform_loss, uniform.seeds AS uniform_seeds
FROM means AS growth
JOIN means AS uniform USING (residual, layers)
CROSS JOIN LATERAL (
    SELECT unnest(['equal steps', 'equal compute', 'half the budget']) AS budget,
        unnest([growth.steps = uniform.steps, abs(growth.compute / uniform.compute - 1) <= 0.02,
            growth.steps BETWEEN 0.35 * uniform.steps AND 0.65 * uniform.steps]) AS fits
)
WHERE NOT growth.uniform AND uniform.uniform AND fits
QUALIFY row_number() OVER (
    PARTITION BY growth."group", budget
    ORDER BY abs(growth.compute - uniform.compute) * (budget = 'equal compute')::INTEGER, uniform.steps DESC, uniform."group"
) = 1;
COMMENT ON VIEW growth_effects IS 'Growth training beside uniform training: means over seeds';
COMMENT ON COLUMN growth_effects.budget IS 'What both have in common: equal steps, equal compute, or that growth has about half the budget';
COMMENT ON COLUMN growth_effects.residual IS 'The residual design of both';
COMMENT ON COLUMN growth_effects.layers IS 'How many layers both have';
COMMENT ON COLUMN growth_effects.method IS 'How growth training goes about it; with the design and depth where those are not the recipe''s';
COMMENT ON COLUMN growth_effects."group" IS 'The runs with growth training, named after the one of the lowest seed';
COMMENT ON COLUMN growth_effects.uniform_group IS 'The uniform runs';
COMMENT ON COLUMN growth_effects.steps IS 'Updates of growth training';
COMMENT ON COLUMN growth_effects.compute IS 'What they cost, in updates of the whole model';
COMMENT ON COLUMN growth_effects.val_loss IS 'Validation loss of growth training at the end, nats per token';
COMMENT ON COLUMN growth_effects.seeds IS 'How many seeds';
COMMENT ON COLUMN growth_effects.uniform_steps IS 'Updates of uniform training';
COMMENT ON COLUMN growth_effects.uniform_compute IS 'What they cost, in updates of the whole model';
COMMENT ON COLUMN growth_effects.uniform_loss IS 'Validation loss of uniform training at the end';
COMMENT ON COLUMN growth_effects.uniform_seeds IS 'How many seeds';
