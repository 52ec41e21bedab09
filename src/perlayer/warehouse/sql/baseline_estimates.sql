CREATE VIEW baseline_estimates AS
SELECT statistic, part, run, value, coalesce(low, '-infinity'::DOUBLE) AS low,
    coalesce(high, 'infinity'::DOUBLE) AS high, covers
FROM anatomy_estimates
JOIN (FROM anatomy_runs WHERE label = 'baseline' AND run = representative) USING (run);
COMMENT ON VIEW baseline_estimates IS 'The numbers of anatomy_estimates of the baseline, of its run of the lowest seed, as contrasts take them';
COMMENT ON COLUMN baseline_estimates.statistic IS 'The number, as in anatomy_estimates';
COMMENT ON COLUMN baseline_estimates.part IS 'What of the model it is about; null for all of it';
COMMENT ON COLUMN baseline_estimates.value IS 'The number';
COMMENT ON COLUMN baseline_estimates.low IS 'The lower end of its interval; infinite where nothing bounds it';
COMMENT ON COLUMN baseline_estimates.high IS 'The upper end';
COMMENT ON COLUMN baseline_estimates.covers IS 'What the interval covers: text or random controls';
