-- A run without readouts and one with probes of the same seed are the same backbone: it counts once. Value residual goes
-- with a design and is no design of its own.
CREATE VIEW design_losses AS
WITH runs AS (
    SELECT residual, value_residual,
        CASE WHEN readouts = 'separate' THEN 'separate' ELSE 'probes' END AS readouts, seed, member AS run, layers,
        readouts = 'none' AS unread, ema
    FROM groups
    WHERE full_depth AND readouts IN ('none', 'probes', 'separate')
        AND changes IN ('', 'value_residual')
)
SELECT residual, value_residual,
    design_name(residual) || coalesce(format(', value residual ({})', value_residual), '') AS design,
    readouts, seed, run, layers, layer, loss
FROM runs JOIN final_loss USING (run)
QUALIFY row_number() OVER (
    PARTITION BY residual, value_residual, runs.readouts, seed, layer ORDER BY unread, ema, run
) = 1;
COMMENT ON VIEW design_losses IS 'What every layer of every residual design ends at, plain and with separate heads: a row a seed';
COMMENT ON COLUMN design_losses.residual IS 'The residual design';
COMMENT ON COLUMN design_losses.value_residual IS 'The kind of value residual that goes with it; null without';
COMMENT ON COLUMN design_losses.design IS 'What both are called';
COMMENT ON COLUMN design_losses.readouts IS 'separate, or probes: plain models, whose last layer probes leave as it is';
COMMENT ON COLUMN design_losses.seed IS 'The seed';
COMMENT ON COLUMN design_losses.layer IS 'The layer, from 1';
COMMENT ON COLUMN design_losses.loss IS 'Final training loss read after the layer, nats per token';
