CREATE VIEW multi_token_sizes AS
SELECT of_size.run, of_size.size, of_size.at_rung, of_size.residual, of_size.layers, way, backbone_parameters, tokens,
    of_size.plain, loss, difference, seeds, standard_error, floor, plain_runs, noise
FROM multi_token_layers AS of_size JOIN runs USING (run)
WHERE of_size.full_depth AND layer = of_size.layers AND ahead = 1;
COMMENT ON VIEW multi_token_sizes IS 'What multi-token prediction changes in the next-token loss of the last layer, by size: the recipe in use and every rung, means over pairs of one seed';
COMMENT ON COLUMN multi_token_sizes.run IS 'The run with multi-token prediction of the lowest seed';
COMMENT ON COLUMN multi_token_sizes.at_rung IS 'Whether it is at a rung, not at the size in use';
COMMENT ON COLUMN multi_token_sizes.way IS 'How later tokens are predicted: the form, the number of modules and their weight';
COMMENT ON COLUMN multi_token_sizes.backbone_parameters IS 'Parameters of all layers, without embedding, heads and modules';
COMMENT ON COLUMN multi_token_sizes.plain IS 'Final training loss of the last layer of the plain runs, nats per token';
COMMENT ON COLUMN multi_token_sizes.loss IS 'The same with multi-token prediction';
COMMENT ON COLUMN multi_token_sizes.difference IS 'With minus without';
COMMENT ON COLUMN multi_token_sizes.seeds IS 'How many pairs of one seed';
COMMENT ON COLUMN multi_token_sizes.standard_error IS 'Standard error of the difference; null for one pair';
COMMENT ON COLUMN multi_token_sizes.floor IS 'The noise floor of the size: greatest minus least loss of its plain runs; null without two seeds';
COMMENT ON COLUMN multi_token_sizes.plain_runs IS 'How many seeds that is of';
COMMENT ON COLUMN multi_token_sizes.noise IS 'What counts as noise in the difference: three standard errors, with fewer than three pairs never less than the floor; null where nothing tells';
