-- Designs share no initial weights, so their runs make no pairs: means over seeds are compared. Seeds scatter alike in
-- all designs as far as is known, so their variance is pooled over the designs with several; it takes two degrees of
-- freedom to count.
CREATE VIEW design_layers AS
WITH designs AS (
    SELECT residual, value_residual, design, readouts, layer, any_value(layers) AS layers, min_by(run, seed) AS run,
        min_by(loss, seed) AS loss, count(*) AS runs, avg(loss) AS mean,
        coalesce(var_samp(loss), 0) * (count(*) - 1) AS squares
    FROM design_losses GROUP BY residual, value_residual, design, readouts, layer
),
seeds AS (
    SELECT readouts, layer, CASE WHEN sum(runs - 1) >= 2 THEN sqrt(sum(squares) / sum(runs - 1)) END AS std
    FROM designs GROUP BY readouts, layer
),
baseline AS (FROM designs WHERE residual = 'sandwich' AND value_residual IS NULL)
SELECT mine.residual, mine.value_residual, mine.design, mine.readouts, mine.layer, mine.layers, mine.run, mine.loss,
    mine.runs, mine.mean,
    CASE WHEN mine.design <> baseline.design THEN mine.mean - baseline.mean END AS difference,
    CASE WHEN mine.design <> baseline.design THEN 3 * std * sqrt(1 / mine.runs + 1 / baseline.runs) END AS noise,
    std AS seed_std
FROM designs AS mine
JOIN seeds USING (readouts, layer)
LEFT JOIN baseline ON baseline.readouts = mine.readouts AND baseline.layer = mine.layer;
COMMENT ON VIEW design_layers IS 'What every layer of a residual design ends at, plain and with separate heads, beside the sandwich design';
COMMENT ON COLUMN design_layers.residual IS 'The residual design';
COMMENT ON COLUMN design_layers.value_residual IS 'The kind of value residual that goes with it; null without';
COMMENT ON COLUMN design_layers.design IS 'What both are called';
COMMENT ON COLUMN design_layers.readouts IS 'separate, or probes: plain models, whose last layer probes leave as it is';
COMMENT ON COLUMN design_layers.layer IS 'The layer, from 1';
COMMENT ON COLUMN design_layers.layers IS 'How many layers the models have';
COMMENT ON COLUMN design_layers.run IS 'The run of the lowest seed';
COMMENT ON COLUMN design_layers.loss IS 'Its final training loss read after the layer, nats per token';
COMMENT ON COLUMN design_layers.runs IS 'How many seeds the design has been trained with';
COMMENT ON COLUMN design_layers.mean IS 'Mean over its seeds of the final training loss read after the layer, nats per token';
COMMENT ON COLUMN design_layers.difference IS 'That mean minus the one of the sandwich design; null for that itself';
COMMENT ON COLUMN design_layers.noise IS 'What counts as noise in the difference: three standard errors, from the seeds of all designs together; null where those are too few';
COMMENT ON COLUMN design_layers.seed_std IS 'Standard deviation of one run over seeds, pooled over the designs that have several; null where those are too few';
