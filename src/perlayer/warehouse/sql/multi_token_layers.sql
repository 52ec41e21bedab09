-- What counts as noise in a difference: three standard errors over pairs of one seed; with fewer than three pairs never
-- less than the spread of plain runs. One pair without a spread has no noise that is known.
CREATE VIEW multi_token_layers AS
WITH floors AS (
    SELECT size, at_rung, residual, layers, layer, readout, ahead, count(*) AS plain_runs,
        max(loss) - min(loss) AS floor
    FROM plain_readings
    GROUP BY ALL HAVING count(*) > 1
),
pairs AS (
    SELECT size, at_rung, residual, layers, full_depth, way, layer, readout, ahead, min_by(run, seed) AS run,
        count(*) AS seeds, avg(plain_loss) AS plain, avg(loss) AS loss, avg(difference) AS difference,
        stddev_samp(difference) / sqrt(count(*)) AS standard_error, avg(module_loss) AS module
    FROM multi_token_pairs
    GROUP BY ALL
)
SELECT run, size, at_rung, residual, layers, full_depth, way, layer, readout, ahead, plain, loss, difference, seeds,
    standard_error, floor, plain_runs,
    CASE WHEN seeds >= 3 THEN 3 * standard_error ELSE greatest(floor, 3 * standard_error) END AS noise, module
FROM pairs LEFT JOIN floors USING (size, at_rung, residual, layers, layer, readout, ahead);
COMMENT ON VIEW multi_token_layers IS 'What multi-token prediction changes in what every layer knows of the next token and of later ones: means over pairs of one seed';
COMMENT ON COLUMN multi_token_layers.run IS 'The run with multi-token prediction of the lowest seed';
COMMENT ON COLUMN multi_token_layers.at_rung IS 'Whether it is at a rung, not at the size in use';
COMMENT ON COLUMN multi_token_layers.way IS 'How later tokens are predicted: the form, the number of modules and their weight';
COMMENT ON COLUMN multi_token_layers.layer IS 'The layer, from 1';
COMMENT ON COLUMN multi_token_layers.readout IS 'How it was read: probe, or head for the next token at the last layer';
COMMENT ON COLUMN multi_token_layers.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN multi_token_layers.plain IS 'Final training loss of the plain runs, nats per token';
COMMENT ON COLUMN multi_token_layers.loss IS 'The same with multi-token prediction';
COMMENT ON COLUMN multi_token_layers.difference IS 'With minus without';
COMMENT ON COLUMN multi_token_layers.seeds IS 'How many pairs of one seed';
COMMENT ON COLUMN multi_token_layers.standard_error IS 'Standard error of the difference; null for one pair';
COMMENT ON COLUMN multi_token_layers.floor IS 'Greatest minus least loss of plain runs that differ in their seed, in a pair or not; null without two';
COMMENT ON COLUMN multi_token_layers.plain_runs IS 'How many seeds that is of';
COMMENT ON COLUMN multi_token_layers.noise IS 'What counts as noise in the difference: three standard errors, with fewer than three pairs never less than the floor; null where nothing tells';
COMMENT ON COLUMN multi_token_layers.module IS 'At the last layer, final training loss of the module that predicts this token; null elsewhere';
