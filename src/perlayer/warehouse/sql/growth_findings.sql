-- Seeds scatter alike in all setups and designs of one depth as far as is known, so their variance is pooled over those
-- with several; it takes two degrees of freedom to count. A published model stands for itself: its noise is that over
-- prompts alone. Seeds read the same prompts, so what those leave to chance is not averaged out over them.
CREATE VIEW growth_findings AS
WITH grouped AS (
    SELECT setup, residual, depth_growth.layers, full_depth, label, place, lead AS run, prompts, hops,
        any_value(easiest) AS easiest, any_value(hardest) AS hardest, count(*) AS seeds, avg(answered) AS answered,
        avg(growth) AS growth, avg(output_growth) AS output_growth,
        sqrt(avg(standard_error ** 2)) AS over_prompts, sqrt(avg(output_standard_error ** 2)) AS output_over_prompts,
        coalesce(var_samp(growth), 0) * (count(*) - 1) AS squares,
        coalesce(var_samp(output_growth), 0) * (count(*) - 1) AS output_squares
    FROM depth_growth JOIN dissected_runs USING (run)
    GROUP BY setup, residual, depth_growth.layers, full_depth, label, place, lead, prompts, hops
),
scatter AS (
    SELECT layers, prompts, sum(squares) / nullif(sum(seeds - 1), 0) AS variance,
        sum(output_squares) / nullif(sum(seeds - 1), 0) AS output_variance, sum(seeds - 1) >= 2 AS known
    FROM grouped GROUP BY layers, prompts
),
noisy AS (
    SELECT grouped.*, CASE WHEN setup = 'published' THEN 0 WHEN known THEN variance / seeds END AS over_seeds,
        CASE WHEN setup = 'published' THEN 0 WHEN known THEN output_variance / seeds END AS output_over_seeds
    FROM grouped JOIN scatter USING (layers, prompts)
)
SELECT setup, residual, layers, full_depth, label, place, run, prompts, hops, easiest, hardest, seeds, answered,
    growth, 3 * sqrt(over_seeds + over_prompts ** 2) AS noise,
    output_growth, 3 * sqrt(output_over_seeds + output_over_prompts ** 2) AS output_noise
FROM noisy;
COMMENT ON VIEW growth_findings IS 'How much more deeply setups, residual designs and published models compute on harder prompts: means over seeds of depth_growth';
COMMENT ON COLUMN growth_findings.setup IS 'How layers were supervised, as in dissected_runs; published for a published model';
COMMENT ON COLUMN growth_findings.residual IS 'The residual design';
COMMENT ON COLUMN growth_findings.layers IS 'How many layers the models have';
COMMENT ON COLUMN growth_findings.full_depth IS 'Whether that is the depth of the recipe; false for a published model';
COMMENT ON COLUMN growth_findings.label IS 'What design, setup and depth, or the published model, are called';
COMMENT ON COLUMN growth_findings.place IS 'Their place among those that are shown, from 1';
COMMENT ON COLUMN growth_findings.run IS 'The run of the lowest seed, or the published model';
COMMENT ON COLUMN growth_findings.prompts IS 'The set of prompts';
COMMENT ON COLUMN growth_findings.hops IS 'Whether its groups are numbers of hops';
COMMENT ON COLUMN growth_findings.easiest IS 'The easiest group';
COMMENT ON COLUMN growth_findings.hardest IS 'The hardest group';
COMMENT ON COLUMN growth_findings.seeds IS 'How many seeds';
COMMENT ON COLUMN growth_findings.answered IS 'Share of these prompts that is answered';
COMMENT ON COLUMN growth_findings.growth IS 'What the depth score by later contributions grows from easiest to hardest, layers';
COMMENT ON COLUMN growth_findings.noise IS 'What counts as noise in it: three standard errors over seeds and prompts, of a published model over prompts; null where seeds or prompts are too few';
COMMENT ON COLUMN growth_findings.output_growth IS 'The same of the depth score by predictions';
COMMENT ON COLUMN growth_findings.output_noise IS 'What counts as noise in that';
