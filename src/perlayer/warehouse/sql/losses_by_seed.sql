-- What contrasts over seeds are made of. The last layer is read by the head in every run; probes leave the backbone as it
-- is, so a run with probes and one without readouts are one group there. The last layers of all runs of a size scatter
-- alike, as far as is known, and so are one pool; below, the runs of one depth, readout and layer are.
CREATE VIEW losses_by_seed AS
SELECT CASE WHEN layer = layers THEN backbone ELSE seed_group END AS "group", run, seed, rung, residual, readouts, layers,
    full_depth, standard, plain, layer, readout, loss,
    CASE WHEN layer = layers THEN format('last layer, {}', size)
        ELSE format('layer {} of {} by {}, {}', layer, layers, readout, size) END AS pool
FROM runs JOIN final_loss USING (run)
WHERE present;
COMMENT ON VIEW losses_by_seed IS 'The final training loss of every layer of every run, with the group of runs that it is a seed of';
COMMENT ON COLUMN losses_by_seed."group" IS 'Runs that differ in nothing but seed or what looks on, named after the one of the lowest seed; at the last layer probes look on, too';
COMMENT ON COLUMN losses_by_seed.layer IS 'The layer, from 1';
COMMENT ON COLUMN losses_by_seed.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN losses_by_seed.loss IS 'Final training loss, nats per token';
COMMENT ON COLUMN losses_by_seed.pool IS 'What scatters alike over seeds';
