-- Probes read the detached residual stream, so a run with probes has the very backbone of one without readouts. Of runs
-- that differ in what looks on alone, such as probes for later tokens, one stands for all: they are the same training.
CREATE VIEW groups AS
SELECT seed_group AS run, run AS member, seed, ema, residual, value_residual, readouts, layers, full_depth, changes,
    standard, plain
FROM recipe_runs
WHERE present AND counts;
COMMENT ON VIEW groups IS 'Which runs differ in nothing but seed or EMA';
COMMENT ON COLUMN groups.run IS 'The name of the group: its run of the lowest seed';
COMMENT ON COLUMN groups.member IS 'A run of the group';
COMMENT ON COLUMN groups.seed IS 'The seed of that run';
COMMENT ON COLUMN groups.ema IS 'Whether that run keeps an average of its weights';
