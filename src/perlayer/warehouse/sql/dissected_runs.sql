CREATE VIEW dissected_runs AS SELECT * EXCLUDE (part) FROM dissected_models WHERE part = 'depth';
COMMENT ON VIEW dissected_runs IS 'The dissected_models that have shown how they use their depth';
COMMENT ON COLUMN dissected_runs.representative IS 'The run of the lowest seed of that label';
COMMENT ON COLUMN dissected_runs.place IS 'Its place among those that are shown, from 1; published models come last';
