-- Probes read all held-out text, lenses the first sequences of it, as many as `lens.sequences` says. Runs of one seed are
-- the same backbone: it counts once.
CREATE VIEW depth_losses AS
WITH readings AS (
    SELECT run, 'probes' AS readout, layer, loss
    FROM held_out WHERE run IN (SELECT run FROM recipe_runs WHERE readouts = 'probes')
    UNION ALL
    SELECT run, readout, layer, loss FROM lenses WHERE layer > 0
)
SELECT residual, readout, backbone AS "group", run, seed, size, layers, layer, loss
FROM recipe_runs JOIN readings USING (run)
WHERE full_depth AND plain AND present
QUALIFY row_number() OVER (PARTITION BY residual, seed, readout, layer ORDER BY readouts = 'none', ema, run) = 1;
COMMENT ON VIEW depth_losses IS 'Held-out loss of the plain models of every residual design after every layer, by what reads it: a row a seed';
COMMENT ON COLUMN depth_losses.readout IS 'probes (the head at the last layer), logit_lens or tuned_lens';
COMMENT ON COLUMN depth_losses."group" IS 'Runs that differ in nothing but seed or what looks on, named after one of them';
COMMENT ON COLUMN depth_losses.layer IS 'The layer, from 1';
COMMENT ON COLUMN depth_losses.loss IS 'Nats per token';
