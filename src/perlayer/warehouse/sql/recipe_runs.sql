CREATE VIEW recipe_runs AS SELECT * EXCLUDE (rung) FROM runs WHERE rung IS NULL;
COMMENT ON VIEW recipe_runs IS 'The runs of the size in use: those at a rung are left out';
