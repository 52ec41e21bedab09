CREATE VIEW held_out AS
SELECT run, layer, readout, max_by(value, step) AS loss
FROM layer_metrics
WHERE metric = 'loss' AND split = 'val' AND ahead = 1 AND other_layer IS NULL
    AND readout IN ('head', 'probe', 'separate', 'shared', 'shared_stop_gradient')
GROUP BY run, layer, readout;
COMMENT ON VIEW held_out IS 'Validation loss at the end of training, read after every layer as in training';
COMMENT ON COLUMN held_out.layer IS 'The layer, from 1';
COMMENT ON COLUMN held_out.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN held_out.loss IS 'Nats per token';
