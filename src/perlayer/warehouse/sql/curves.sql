-- 6 N D in floating point: it passes 2^63 at the largest sizes.
CREATE VIEW curves AS
WITH parameters AS (
    SELECT run, layer, any_value(value) AS parameters FROM layer_metrics WHERE metric = 'parameters' GROUP BY run, layer
)
SELECT run, layer, readout, step, tokens, 6.0::DOUBLE * parameters * tokens AS backbone_flops, value AS loss
FROM layer_metrics LEFT JOIN parameters USING (run, layer)
WHERE metric = 'loss' AND split = 'train' AND ahead = 1 AND other_layer IS NULL
    AND readout IN ('head', 'probe', 'separate', 'shared', 'shared_stop_gradient');
COMMENT ON VIEW curves IS 'Training loss of every step, read after every layer';
COMMENT ON COLUMN curves.layer IS 'The layer, from 1';
COMMENT ON COLUMN curves.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN curves.step IS 'The update, from 1; the loss is taken before it';
COMMENT ON COLUMN curves.tokens IS 'Training tokens so far';
COMMENT ON COLUMN curves.backbone_flops IS '6ND: N parameters of the layers up to this one without embedding and heads, D tokens';
COMMENT ON COLUMN curves.loss IS 'Nats per token';
