-- The readouts that take part in training; other readouts look at finished models.
CREATE VIEW final_loss AS
WITH losses AS (
    SELECT run, layer, readout, step, value
    FROM layer_metrics
    WHERE metric = 'loss' AND split = 'train' AND ahead = 1 AND other_layer IS NULL
        AND readout IN ('head', 'probe', 'separate', 'shared', 'shared_stop_gradient')
),
ends AS (SELECT run, max(step) AS last_step FROM losses GROUP BY run)
SELECT run, layer, readout, avg(value) AS loss
FROM losses JOIN ends USING (run)
WHERE step > last_step - 50
GROUP BY run, layer, readout;
COMMENT ON VIEW final_loss IS 'Final training loss: mean over the last 50 steps of the loss read after a layer; of a run with layer dropout it is taken while layers are skipped';
COMMENT ON COLUMN final_loss.layer IS 'The layer, from 1';
COMMENT ON COLUMN final_loss.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN final_loss.loss IS 'Nats per token';
