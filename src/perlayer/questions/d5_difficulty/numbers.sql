-- In layers from 1, means over seeds. depth_score: the mean layer, weighted by what skipping it changes in later
-- contributions to future tokens of held-out text; output_depth_score: by what that changes in predictions of them.
-- by_max: the depth score of the greatest effects instead of mean ones, as the source takes them, in the run of the
-- lowest seed. growth: what the depth score of prompts grows from their easiest group to their hardest, by a line
-- through all of them; output_growth: that by predictions. answered: the share of these prompts that is answered.
WITH held_out AS (
    SELECT label, place, max(mean) FILTER (statistic = 'depth_score') AS depth_score,
        max(noise) FILTER (statistic = 'depth_score') AS noise, any_value(by_max) AS by_max,
        max(mean) FILTER (statistic = 'output_depth_score') AS output_depth_score,
        max(noise) FILTER (statistic = 'output_depth_score') AS output_noise, max(seeds) AS seeds
    FROM depth_findings
    LEFT JOIN (SELECT run, depth_score AS by_max FROM depth_scores WHERE sublayer IS NULL AND stat = 'max') USING (run)
    GROUP BY label, place
)
SELECT held_out.label AS setup, depth_score, held_out.noise, by_max, output_depth_score, held_out.output_noise,
    prompts || ': ' || easiest || ' to ' || hardest AS prompts, growth, growth_findings.noise AS growth_noise,
    output_growth, growth_findings.output_noise AS output_growth_noise, answered, held_out.seeds
FROM held_out LEFT JOIN growth_findings USING (place)
ORDER BY place, growth_findings.prompts
