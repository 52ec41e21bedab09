CREATE VIEW anatomy_runs AS SELECT * EXCLUDE (part) FROM dissected_models WHERE part = 'anatomy';
COMMENT ON VIEW anatomy_runs IS 'The dissected_models of which it has been dissected what their layers are made of';
COMMENT ON COLUMN anatomy_runs.representative IS 'The run of the lowest seed of that label';
COMMENT ON COLUMN anatomy_runs.place IS 'Its place among those that are shown, from 1; published models come last';
