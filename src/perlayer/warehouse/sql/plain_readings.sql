-- Probes and EMA leave the model as it is, so that all plain runs of one seed are the same model: it counts once.
CREATE VIEW plain_readings AS
SELECT runs.run, size, rung IS NOT NULL AS at_rung, residual, layers, seed, layer, readout, ahead, loss
FROM runs
JOIN (
    SELECT run, layer, readout, 1 AS ahead, loss FROM final_loss
    UNION ALL
    SELECT run, layer, readout, ahead, loss FROM future
) AS readings USING (run)
WHERE present AND plain
QUALIFY row_number() OVER (
    PARTITION BY size, at_rung, residual, layers, seed, layer, readout, ahead ORDER BY ema, readouts, runs.run
) = 1;
COMMENT ON VIEW plain_readings IS 'What every layer of a plain model ends at, for the next token and later ones, at the size in use and at rungs; a seed counts once';
COMMENT ON COLUMN plain_readings.at_rung IS 'Whether it is at a rung, not at the size in use';
COMMENT ON COLUMN plain_readings.layer IS 'The layer, from 1';
COMMENT ON COLUMN plain_readings.readout IS 'probe, or head for the next token at the last layer';
COMMENT ON COLUMN plain_readings.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN plain_readings.loss IS 'Final training loss, nats per token';
