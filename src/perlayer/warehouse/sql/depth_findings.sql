-- Seeds scatter alike in all setups and designs of one depth as far as is known, so their variance is pooled over those
-- with several; it takes two degrees of freedom to count.
CREATE VIEW depth_findings AS
WITH grouped AS (
    SELECT residual, setup, layers, full_depth, label, place, lead AS run, statistic,
        min_by(value, seed) AS value, avg(value) AS mean, count(*) AS seeds, coalesce(var_samp(value), 0) * (count(*) - 1) AS squares
    FROM depth_statistics JOIN dissected_runs USING (run)
    GROUP BY residual, setup, layers, full_depth, label, place, lead, statistic
),
scatter AS (
    SELECT layers, statistic, CASE WHEN sum(seeds - 1) >= 2 THEN sqrt(sum(squares) / sum(seeds - 1)) END AS std
    FROM grouped GROUP BY layers, statistic
)
SELECT mine.residual, mine.setup, mine.layers, mine.full_depth, mine.label, mine.place, mine.run, statistic,
    mine.value, mine.mean, mine.seeds,
    CASE WHEN mine.setup <> 'published' THEN 3 * std / sqrt(mine.seeds) END AS noise,
    CASE WHEN beside THEN mine.mean - baseline.mean END AS difference,
    CASE WHEN beside THEN 3 * std * sqrt(1 / mine.seeds + 1 / baseline.seeds) END AS difference_noise
FROM grouped AS mine
JOIN scatter USING (layers, statistic)
LEFT JOIN (SELECT * FROM grouped WHERE residual = 'sandwich' AND setup = 'baseline') AS baseline
    USING (layers, statistic)
CROSS JOIN LATERAL (SELECT mine.run <> baseline.run AND mine.setup <> 'published' AS beside);
COMMENT ON VIEW depth_findings IS 'How setups and residual designs use their depth, beside the baseline of as many layers: means over seeds of depth_statistics; and published models, beside nothing';
COMMENT ON COLUMN depth_findings.residual IS 'The residual design';
COMMENT ON COLUMN depth_findings.setup IS 'How layers were supervised: baseline (not at all), separate, shared or shared_stop_gradient; published for a published model';
COMMENT ON COLUMN depth_findings.layers IS 'How many layers the models have';
COMMENT ON COLUMN depth_findings.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN depth_findings.label IS 'What design, setup and depth are called';
COMMENT ON COLUMN depth_findings.place IS 'Their place among those that are shown, from 1';
COMMENT ON COLUMN depth_findings.run IS 'The run of the lowest seed';
COMMENT ON COLUMN depth_findings.statistic IS 'The number, as in depth_statistics';
COMMENT ON COLUMN depth_findings.value IS 'Of that run';
COMMENT ON COLUMN depth_findings.mean IS 'Mean over seeds';
COMMENT ON COLUMN depth_findings.seeds IS 'How many';
COMMENT ON COLUMN depth_findings.noise IS 'What counts as noise in the mean: three standard errors, from the seeds of all setups and designs of this depth together; null where those are too few, and for published models';
COMMENT ON COLUMN depth_findings.difference IS 'The mean minus that of the baseline; null for that itself and for published models';
COMMENT ON COLUMN depth_findings.difference_noise IS 'What counts as noise in the difference: three standard errors; null where seeds are too few';
