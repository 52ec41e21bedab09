-- Probes and EMA leave the model as it is, so that all plain runs of one seed are the same model: it counts once.
CREATE VIEW plain_readings AS
SELECT runs.run, size, section, residual, layers, seed, layer, readout, ahead, loss
FROM runs
JOIN (
    SELECT run, layer, readout, 1 AS ahead, loss FROM final_loss
    UNION ALL
    SELECT run, layer, readout, ahead, loss FROM future
) AS readings USING (run)
WHERE present AND readouts IN ('none', 'probes') AND algorithms = '{}'
QUALIFY row_number() OVER (
    PARTITION BY size, section, residual, layers, seed, layer, readout, ahead ORDER BY ema, readouts, runs.run
) = 1;
COMMENT ON VIEW plain_readings IS 'What every layer of a plain model ends at, for the next token and later ones, at the size in use and on the ladder; a seed counts once';
COMMENT ON COLUMN plain_readings.run IS 'The run';
COMMENT ON COLUMN plain_readings.size IS 'The recipe it follows, or the rung of the ladder';
COMMENT ON COLUMN plain_readings.section IS 'Where params.yaml names it: runs, ladder or growth';
COMMENT ON COLUMN plain_readings.residual IS 'Its residual design';
COMMENT ON COLUMN plain_readings.layers IS 'How many layers it has';
COMMENT ON COLUMN plain_readings.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN plain_readings.layer IS 'The layer, from 1';
COMMENT ON COLUMN plain_readings.readout IS 'probe, or head for the next token at the last layer';
COMMENT ON COLUMN plain_readings.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN plain_readings.loss IS 'Final training loss, nats per token';
