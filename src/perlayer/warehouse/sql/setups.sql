CREATE VIEW setups AS
SELECT residual, CASE WHEN readouts = 'none' THEN 'baseline' ELSE readouts END AS setup, member AS run,
    groups.run AS representative, seed, ema, layers
FROM groups
WHERE full_depth AND standard;
COMMENT ON VIEW setups IS 'Runs of the depth of the recipe that only design, readouts, seed and EMA set apart';
COMMENT ON COLUMN setups.setup IS 'How its layers are read; baseline when they are not';
COMMENT ON COLUMN setups.representative IS 'The run of the lowest seed of its setup';
COMMENT ON COLUMN setups.ema IS 'Whether it keeps an average of its weights';
