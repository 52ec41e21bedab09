-- What scatters alike over seeds is one statistic of models of one depth.
CREATE VIEW baseline_statistics AS
SELECT statistic, backbone AS "group", run, recipe_runs.layers, value,
    format('{} of {} layers, {}', statistic, recipe_runs.layers, size) AS pool
FROM depth_statistics
JOIN (SELECT run FROM dissected_runs WHERE label = 'baseline') USING (run)
JOIN recipe_runs USING (run);
COMMENT ON VIEW baseline_statistics IS 'The numbers of depth_statistics of the seeds of the baseline, as contrasts over seeds take them';
COMMENT ON COLUMN baseline_statistics.statistic IS 'The number, as in depth_statistics';
COMMENT ON COLUMN baseline_statistics."group" IS 'Runs that differ in nothing but seed or what looks on, named after the one of the lowest seed';
COMMENT ON COLUMN baseline_statistics.value IS 'The number';
COMMENT ON COLUMN baseline_statistics.pool IS 'What scatters alike over seeds';
