-- Runs of one seed in a group are the same model: it counts once.
CREATE VIEW held_out_spread AS
WITH losses AS (
    SELECT groups.run, layer, readout, loss
    FROM groups JOIN held_out ON held_out.run = member
    QUALIFY row_number() OVER (PARTITION BY groups.run, seed, layer, readout ORDER BY ema, member) = 1
)
SELECT run, layer, readout, count(*) AS runs, max(loss) - min(loss) AS spread, stddev_samp(loss) AS std
FROM losses
GROUP BY run, layer, readout
HAVING count(*) > 1;
COMMENT ON VIEW held_out_spread IS 'How far runs that differ in nothing but seed or EMA end apart in validation loss';
COMMENT ON COLUMN held_out_spread.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN held_out_spread.layer IS 'The layer, from 1';
COMMENT ON COLUMN held_out_spread.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN held_out_spread.runs IS 'How many seeds, at least 2';
COMMENT ON COLUMN held_out_spread.spread IS 'Greatest minus least validation loss, nats per token';
COMMENT ON COLUMN held_out_spread.std IS 'Sample standard deviation of the validation losses, nats per token';
