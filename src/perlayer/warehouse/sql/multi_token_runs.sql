CREATE VIEW multi_token_runs AS
SELECT run, size, rung IS NOT NULL AS at_rung, residual, readouts, seed, ema, layers, full_depth, present,
    multi_token AS way
FROM runs
WHERE readouts IN ('none', 'probes') AND changes = 'multi_token_prediction';
COMMENT ON VIEW multi_token_runs IS 'The runs that multi-token prediction alone sets apart from plain ones, whether their results are here or not';
COMMENT ON COLUMN multi_token_runs.at_rung IS 'Whether it is at a rung, not at the size in use';
COMMENT ON COLUMN multi_token_runs.readouts IS 'How its layers are read: none or probes';
COMMENT ON COLUMN multi_token_runs.present IS 'Whether its results at this size are here';
COMMENT ON COLUMN multi_token_runs.way IS 'How later tokens are predicted: the form, the number of modules and their weight';
