-- Probes and EMA leave the backbone as it is, so that all plain runs of one seed are the same: it counts once.
CREATE VIEW noise_floor AS
WITH losses AS (
    SELECT layer, readout, residual, loss
    FROM groups JOIN final_loss ON final_loss.run = member
    WHERE plain AND full_depth
    QUALIFY row_number() OVER (PARTITION BY residual, seed, layer, readout ORDER BY ema, readouts, member) = 1
)
SELECT layer, readout, count(*) AS runs, max(loss) - min(loss) AS spread, stddev_samp(loss) AS std, residual
FROM losses
GROUP BY layer, readout, residual
HAVING count(*) > 1;
COMMENT ON VIEW noise_floor IS 'How far plain runs that differ in nothing but seed or EMA end apart; a seed counts once';
COMMENT ON COLUMN noise_floor.layer IS 'The layer, from 1';
COMMENT ON COLUMN noise_floor.readout IS 'head at the last layer, probe below';
COMMENT ON COLUMN noise_floor.runs IS 'How many seeds, at least 2';
COMMENT ON COLUMN noise_floor.spread IS 'Greatest minus least final training loss, nats per token';
COMMENT ON COLUMN noise_floor.std IS 'Sample standard deviation of the final training losses, nats per token';
COMMENT ON COLUMN noise_floor.residual IS 'Their residual design';
