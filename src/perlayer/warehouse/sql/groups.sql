-- Probes read the detached residual stream, so a run with probes has the very backbone of one without readouts. Of runs
-- that differ in what looks on alone, such as probes for later tokens, one stands for all: they are the same training.
CREATE VIEW groups AS
SELECT
    first_value(run) OVER (PARTITION BY setting ORDER BY seed, ema, run) AS run,
    run AS member, seed, ema, residual, readouts, layers, full_depth, algorithms,
    readouts IN ('none', 'probes') AND algorithms = '{}' AS plain
FROM recipe_runs
WHERE present
QUALIFY row_number() OVER (PARTITION BY setting, seed, ema ORDER BY length(run), run) = 1;
COMMENT ON VIEW groups IS 'Which runs differ in nothing but seed or EMA';
COMMENT ON COLUMN groups.run IS 'The name of the group: its run of the lowest seed';
COMMENT ON COLUMN groups.member IS 'A run of the group';
COMMENT ON COLUMN groups.seed IS 'The seed of that run';
COMMENT ON COLUMN groups.ema IS 'Whether that run keeps an average of its weights';
COMMENT ON COLUMN groups.residual IS 'Its residual design';
COMMENT ON COLUMN groups.readouts IS 'How its layers are read';
COMMENT ON COLUMN groups.layers IS 'How many layers it has';
COMMENT ON COLUMN groups.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN groups.algorithms IS 'Its further keys, as JSON';
COMMENT ON COLUMN groups.plain IS 'Whether its backbone trains as the baseline does: no readouts or probes, no algorithms';
