-- Runs of one seed share initial weights and data order, so their difference is steadier than either loss.
CREATE VIEW multi_token_pairs AS
WITH multi AS (
    SELECT runs.run, size, at_rung, residual, layers, full_depth, way, seed, layer, readout, ahead, loss
    FROM multi_token_runs AS runs
    JOIN (
        SELECT run, layer, readout, 1 AS ahead, loss FROM final_loss
        UNION ALL
        SELECT run, layer, readout, ahead, loss FROM future
    ) AS readings USING (run)
    WHERE present
    QUALIFY row_number() OVER (
        PARTITION BY size, at_rung, residual, layers, way, seed, layer, readout, ahead ORDER BY ema, readouts, runs.run
    ) = 1
)
SELECT multi.run, plain.run AS baseline, size, at_rung, residual, layers, full_depth, way, seed, layer, readout, ahead,
    plain.loss AS plain_loss, multi.loss, multi.loss - plain.loss AS difference, module.loss AS module_loss
FROM multi
JOIN plain_readings AS plain USING (size, at_rung, residual, layers, seed, layer, readout, ahead)
LEFT JOIN future AS module
    ON module.run = multi.run AND module.layer = multi.layer AND module.ahead = multi.ahead
    AND module.readout = 'multi_token';
COMMENT ON VIEW multi_token_pairs IS 'Runs with multi-token prediction beside the plain run of the same size, design, depth and seed, read in the same way';
COMMENT ON COLUMN multi_token_pairs.run IS 'The run with multi-token prediction';
COMMENT ON COLUMN multi_token_pairs.baseline IS 'The plain run';
COMMENT ON COLUMN multi_token_pairs.at_rung IS 'Whether it is at a rung, not at the size in use';
COMMENT ON COLUMN multi_token_pairs.residual IS 'Their residual design';
COMMENT ON COLUMN multi_token_pairs.layers IS 'How many layers they have';
COMMENT ON COLUMN multi_token_pairs.way IS 'How later tokens are predicted: the form, the number of modules and their weight';
COMMENT ON COLUMN multi_token_pairs.seed IS 'The seed of their initial weights';
COMMENT ON COLUMN multi_token_pairs.layer IS 'The layer, from 1';
COMMENT ON COLUMN multi_token_pairs.readout IS 'How it was read in both: probe, or head for the next token at the last layer';
COMMENT ON COLUMN multi_token_pairs.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN multi_token_pairs.plain_loss IS 'Final training loss of the plain run, nats per token';
COMMENT ON COLUMN multi_token_pairs.loss IS 'The same with multi-token prediction';
COMMENT ON COLUMN multi_token_pairs.difference IS 'With minus without';
COMMENT ON COLUMN multi_token_pairs.module_loss IS 'At the last layer, final training loss of the module that predicts this token; null elsewhere';
