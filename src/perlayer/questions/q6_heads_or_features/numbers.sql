-- Held-out loss read after every layer before and after retraining, nats per token, of the run of the lowest seed; gap:
-- probes minus separate heads.
SELECT layer, probes_before, probes_after, probes_change, separate_before, separate_after, separate_change,
    probes_before - separate_before AS gap_before, probes_after - separate_after AS gap_after
FROM retrained_gap
ORDER BY layer
