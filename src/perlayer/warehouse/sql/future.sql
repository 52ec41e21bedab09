-- The readings of later tokens that take part in training.
CREATE VIEW future AS
WITH losses AS (
    SELECT run, layer, readout, ahead, step, value
    FROM layer_metrics
    WHERE metric = 'loss' AND split = 'train' AND ahead >= 2 AND other_layer IS NULL
        AND readout IN ('probe', 'multi_token')
),
ends AS (SELECT run, max(step) AS last_step FROM losses GROUP BY run)
SELECT run, layer, readout, ahead, avg(value) AS loss
FROM losses JOIN ends USING (run)
WHERE step > last_step - 50
GROUP BY run, layer, readout, ahead;
COMMENT ON VIEW future IS 'Final training loss of tokens after the next one: mean over the last 50 steps of the loss read after a layer';
COMMENT ON COLUMN future.layer IS 'The layer, from 1';
COMMENT ON COLUMN future.readout IS 'What read it: probe, or multi_token for the modules of multi-token prediction, which start from the last layer';
COMMENT ON COLUMN future.ahead IS 'Which token: 2 for the one after the next';
COMMENT ON COLUMN future.loss IS 'Nats per token';
