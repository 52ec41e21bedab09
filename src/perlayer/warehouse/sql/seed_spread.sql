-- Runs of one seed in a group are the same model: it counts once.
CREATE VIEW seed_spread AS
WITH losses AS (
    SELECT groups.run, layer, readout, loss
    FROM groups JOIN final_loss ON final_loss.run = member
    QUALIFY row_number() OVER (PARTITION BY groups.run, seed, layer, readout ORDER BY ema, member) = 1
)
SELECT run, layer, readout, count(*) AS runs, max(loss) - min(loss) AS spread, stddev_samp(loss) AS std
FROM losses
GROUP BY run, layer, readout
HAVING count(*) > 1;
COMMENT ON VIEW seed_spread IS 'The same spread within every group of runs that differ in nothing but seed or EMA';
COMMENT ON COLUMN seed_spread.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN seed_spread.layer IS 'The layer, from 1';
COMMENT ON COLUMN seed_spread.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN seed_spread.runs IS 'How many seeds, at least 2';
COMMENT ON COLUMN seed_spread.spread IS 'Greatest minus least final training loss, nats per token';
COMMENT ON COLUMN seed_spread.std IS 'Sample standard deviation of the final training losses, nats per token';
