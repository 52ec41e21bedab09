-- Held-out loss read after every layer before and after retraining, nats per token, as training left the run of the
-- lowest seed; gap: probes minus separate heads; closed: the share of it that retraining closes, where it is above the
-- noise; noise: the greatest spread over seeds, of the layer in either setup and of the last layer of plain runs.
SELECT layer, probes_before, probes_after, probes_change, probes_standard_error,
    separate_before, separate_after, separate_change, separate_standard_error,
    gap_before, gap_after, closed, noise
FROM retrained_gap
WHERE residual = 'sandwich'
ORDER BY layer
