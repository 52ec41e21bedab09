-- What a run's key leaves out is as the algorithm's settings have it.
CREATE VIEW multi_token_runs AS
SELECT run, size, section, residual, readouts, seed, ema, layers, full_depth, present,
    format('{}, depth {}, weight {:g}',
        coalesce(algorithms ->> '$.multi_token_prediction.form', 'sequential'),
        coalesce(CAST(algorithms ->> '$.multi_token_prediction.depth' AS INTEGER), 1),
        coalesce(CAST(algorithms ->> '$.multi_token_prediction.weight' AS DOUBLE), 0.3)
    ) AS way
FROM runs
WHERE readouts IN ('none', 'probes') AND json_keys(algorithms) = ['multi_token_prediction'];
COMMENT ON VIEW multi_token_runs IS 'The runs that multi-token prediction alone sets apart from plain ones, whether their results are here or not';
COMMENT ON COLUMN multi_token_runs.run IS 'The run';
COMMENT ON COLUMN multi_token_runs.size IS 'The recipe it follows, or the rung of the ladder';
COMMENT ON COLUMN multi_token_runs.section IS 'Where params.yaml names it: runs, ladder or growth';
COMMENT ON COLUMN multi_token_runs.residual IS 'Its residual design';
COMMENT ON COLUMN multi_token_runs.readouts IS 'How its layers are read: none or probes';
COMMENT ON COLUMN multi_token_runs.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN multi_token_runs.ema IS 'Whether it also keeps an average of its weights, which changes nothing in training';
COMMENT ON COLUMN multi_token_runs.layers IS 'How many layers it has';
COMMENT ON COLUMN multi_token_runs.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN multi_token_runs.present IS 'Whether its results at this size are here';
COMMENT ON COLUMN multi_token_runs.way IS 'How later tokens are predicted: the form, the number of modules and their weight';
