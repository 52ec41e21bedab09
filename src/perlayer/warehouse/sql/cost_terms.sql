CREATE VIEW cost_terms AS
WITH last AS (SELECT "group", run, loss AS value, pool FROM losses_by_seed WHERE layer = layers),
subjects AS (SELECT DISTINCT seed_group AS subject, baseline FROM recipe_runs WHERE NOT plain)
SELECT subject, coefficient, "group", run, value, pool
FROM (
    SELECT subject, 1.0 AS coefficient, subject AS "group" FROM subjects
    UNION ALL
    SELECT subject, -1.0, baseline FROM subjects
) LEFT JOIN last USING ("group");
COMMENT ON VIEW cost_terms IS 'What a group of runs costs the last layer beside its depth-matched baseline, as a contrast: a row a run of either';
COMMENT ON COLUMN cost_terms.subject IS 'The group';
COMMENT ON COLUMN cost_terms.coefficient IS '1 for its runs, -1 for those of the baseline';
COMMENT ON COLUMN cost_terms."group" IS 'The group of the run';
COMMENT ON COLUMN cost_terms.run IS 'The run; null where the group has none yet';
COMMENT ON COLUMN cost_terms.value IS 'Its final training loss, nats per token';
COMMENT ON COLUMN cost_terms.pool IS 'What scatters alike over seeds';
