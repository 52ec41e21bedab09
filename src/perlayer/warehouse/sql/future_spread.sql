-- Runs of one seed in a group are the same model: it counts once.
CREATE VIEW future_spread AS
WITH losses AS (
    SELECT groups.run, layer, readout, ahead, loss
    FROM groups JOIN future ON future.run = member
    QUALIFY row_number() OVER (PARTITION BY groups.run, seed, layer, readout, ahead ORDER BY ema, member) = 1
)
SELECT run, layer, readout, ahead, count(*) AS runs, max(loss) - min(loss) AS spread, stddev_samp(loss) AS std
FROM losses
GROUP BY run, layer, readout, ahead
HAVING count(*) > 1;
COMMENT ON VIEW future_spread IS 'How far runs that differ in nothing but their seed end apart on tokens after the next one';
COMMENT ON COLUMN future_spread.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN future_spread.layer IS 'The layer, from 1';
COMMENT ON COLUMN future_spread.readout IS 'What read it: probe, or multi_token for the modules of multi-token prediction';
COMMENT ON COLUMN future_spread.ahead IS 'Which token: 2 for the one after the next';
COMMENT ON COLUMN future_spread.runs IS 'How many seeds, at least 2';
COMMENT ON COLUMN future_spread.spread IS 'Greatest minus least final training loss, nats per token';
COMMENT ON COLUMN future_spread.std IS 'Sample standard deviation of the final training losses, nats per token';
