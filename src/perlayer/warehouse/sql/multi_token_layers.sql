CREATE VIEW multi_token_layers AS
WITH means AS (
    SELECT "group", size, rung, residual, layers, full_depth, method, layer, readout, ahead, avg(loss) AS loss,
        count(*) AS seeds
    FROM token_losses GROUP BY ALL
)
SELECT mine.* EXCLUDE (loss, seeds), plain.loss AS plain, mine.loss, mine.loss - plain.loss AS difference, mine.seeds, plain.seeds AS plain_seeds,
    module.loss AS module
FROM (FROM means WHERE method IS NOT NULL) AS mine
JOIN (FROM means WHERE method IS NULL) AS plain USING (size, residual, layers, layer, readout, ahead)
LEFT JOIN means AS module
    ON module."group" = mine."group" AND module.layer = mine.layer AND module.ahead = mine.ahead
        AND module.readout = 'multi_token';
COMMENT ON VIEW multi_token_layers IS 'What multi-token prediction changes in what every layer knows of the next token and of later ones: means over seeds';
COMMENT ON COLUMN multi_token_layers."group" IS 'The runs with multi-token prediction, named after the one of the lowest seed';
COMMENT ON COLUMN multi_token_layers.method IS 'How later tokens are predicted: the form, the number of modules and their weight';
COMMENT ON COLUMN multi_token_layers.layer IS 'The layer, from 1';
COMMENT ON COLUMN multi_token_layers.readout IS 'How it was read: probe, or head for the next token at the last layer';
COMMENT ON COLUMN multi_token_layers.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN multi_token_layers.plain IS 'Final training loss of the plain runs, nats per token';
COMMENT ON COLUMN multi_token_layers.loss IS 'The same with multi-token prediction';
COMMENT ON COLUMN multi_token_layers.difference IS 'With minus without';
COMMENT ON COLUMN multi_token_layers.seeds IS 'Seeds with multi-token prediction';
COMMENT ON COLUMN multi_token_layers.plain_seeds IS 'Seeds without';
COMMENT ON COLUMN multi_token_layers.module IS 'At the last layer, final training loss of the module that predicts this token; null elsewhere';
