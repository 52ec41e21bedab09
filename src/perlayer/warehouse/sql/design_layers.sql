-- A run without readouts and one with probes of the same seed are the same backbone: it counts once. Value residual goes
-- with a design and is no design of its own.
CREATE VIEW design_layers AS
WITH seeds AS (
    SELECT residual, value_residual, CASE WHEN readouts = 'separate' THEN 'separate' ELSE 'probes' END AS readouts, layer,
        layers, seed, avg(loss) AS loss
    FROM recipe_runs JOIN final_loss USING (run)
    WHERE full_depth AND present AND readouts IN ('none', 'probes', 'separate') AND changes IN ('', 'value_residual')
    GROUP BY ALL
),
designs AS (
    SELECT residual, value_residual, readouts, layer, layers, count(*) AS runs, avg(loss) AS mean
    FROM seeds GROUP BY ALL
)
SELECT mine.*, design_name(mine.residual) || coalesce(format(', value residual ({})', mine.value_residual), '') AS design,
    CASE WHEN (mine.residual, mine.value_residual) IS DISTINCT FROM ('sandwich', NULL)
        THEN mine.mean - baseline.mean END AS difference
FROM designs AS mine
LEFT JOIN designs AS baseline ON baseline.residual = 'sandwich' AND baseline.value_residual IS NULL
    AND baseline.readouts = mine.readouts AND baseline.layer = mine.layer;
COMMENT ON VIEW design_layers IS 'What every layer of a residual design ends at, plain and with separate heads, beside the sandwich design';
COMMENT ON COLUMN design_layers.value_residual IS 'The kind of value residual that goes with it; null without';
COMMENT ON COLUMN design_layers.design IS 'What both are called';
COMMENT ON COLUMN design_layers.readouts IS 'separate, or probes: plain models, whose last layer probes leave as it is';
COMMENT ON COLUMN design_layers.layer IS 'The layer, from 1';
COMMENT ON COLUMN design_layers.layers IS 'How many layers the models have';
COMMENT ON COLUMN design_layers.runs IS 'How many seeds the design has been trained with';
COMMENT ON COLUMN design_layers.mean IS 'Mean over its seeds of the final training loss read after the layer, nats per token';
COMMENT ON COLUMN design_layers.difference IS 'That mean minus the one of the sandwich design; null for that itself';
