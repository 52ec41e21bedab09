CREATE VIEW retraining AS
WITH ends AS (
    SELECT run, layer, max(tokens) AS tokens,
        max(value) FILTER (metric = 'loss' AND step = 0) AS before,
        max_by(value, step) FILTER (metric = 'loss') AS after,
        max_by(value, step) FILTER (metric = 'change') AS change,
        max_by(value, step) FILTER (metric = 'change_standard_error') AS standard_error
    FROM layer_metrics
    WHERE readout = 'retrained' AND split = 'val' AND ahead = 1 AND other_layer IS NULL
    GROUP BY run, layer
)
SELECT run, layer, readout, before, after, change, standard_error, tokens
FROM ends LEFT JOIN held_out USING (run, layer);
COMMENT ON VIEW retraining IS 'Readouts retrained on the frozen layers of a finished run, by held-out loss';
COMMENT ON COLUMN retraining.layer IS 'The layer, from 1';
COMMENT ON COLUMN retraining.readout IS 'How the layer was read in training; head at the last layer';
COMMENT ON COLUMN retraining.before IS 'Loss of the readout that training left, nats per token';
COMMENT ON COLUMN retraining.after IS 'Loss of the retrained readout, nats per token';
COMMENT ON COLUMN retraining.change IS 'After minus before: above 0 retraining has made it worse';
COMMENT ON COLUMN retraining.standard_error IS 'Standard error of the change over held-out sequences';
COMMENT ON COLUMN retraining.tokens IS 'Tokens of the retraining';
