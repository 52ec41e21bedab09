-- Lenses may read less of the held-out text than training does: lenses.evaluated_tokens says how much.
CREATE VIEW by_readout AS
SELECT run, size, layer,
    max_by(value, step) FILTER (readout IN ('head', 'probe', 'separate', 'shared', 'shared_stop_gradient')) AS trained,
    max_by(value, step) FILTER (readout = 'retrained') AS retrained,
    max_by(value, step) FILTER (readout = 'logit_lens') AS logit_lens,
    max_by(value, step) FILTER (readout = 'tuned_lens') AS tuned_lens
FROM layer_metrics
WHERE metric = 'loss' AND split = 'val' AND ahead = 1 AND other_layer IS NULL
GROUP BY run, size, layer;
COMMENT ON VIEW by_readout IS 'Held-out loss of every layer of a finished model, by what reads it: nats per token';
COMMENT ON COLUMN by_readout.run IS 'The run, or the published model';
COMMENT ON COLUMN by_readout.size IS 'Its recipe; published for a published model';
COMMENT ON COLUMN by_readout.layer IS 'The layer, from 1; 0 is the embedding';
COMMENT ON COLUMN by_readout.trained IS 'The readout that it was trained with; the head at the last layer';
COMMENT ON COLUMN by_readout.retrained IS 'That readout, retrained on the frozen layers';
COMMENT ON COLUMN by_readout.logit_lens IS 'The final norm and head';
COMMENT ON COLUMN by_readout.tuned_lens IS 'The same after an affine map trained for this layer';
