-- Held-out loss after every layer by what reads it, nats per token; of each setup the run of the lowest seed that a lens
-- has read. Layer 0 is the embedding.
WITH representatives AS (
    SELECT setup, run
    FROM setups
    WHERE residual = 'sandwich' AND run IN (SELECT run FROM lenses)
    QUALIFY row_number() OVER (PARTITION BY setup ORDER BY seed, ema, run) = 1
)
SELECT setup, layer, logit_lens, tuned_lens, trained, retrained
FROM representatives JOIN by_readout USING (run)
ORDER BY array_position(['baseline', 'probes', 'separate', 'shared', 'shared_stop_gradient'], setup), layer
