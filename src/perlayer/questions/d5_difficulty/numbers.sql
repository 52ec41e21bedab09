-- In layers from 1, means over seeds. depth_score: the mean layer, weighted by what skipping it changes in later
-- contributions to future tokens of held-out text; output_depth_score: by what that changes in predictions of them.
-- by_max: the depth score of the greatest effects instead of mean ones, as the source takes them, in the run of the
-- lowest seed. growth: what the depth score of prompts grows from their easiest group to their hardest, by a line
-- through all of them, and its standard error over prompts in the run of the lowest seed; output_growth: that by
-- predictions. answered: the share of these prompts that is answered.
WITH held_out AS (
    SELECT label, place, avg(value) FILTER (statistic = 'depth_score') AS depth_score,
        avg(value) FILTER (statistic = 'output_depth_score') AS output_depth_score,
        any_value(by_max) FILTER (run = representative) AS by_max, count(DISTINCT run) AS seeds
    FROM depth_statistics JOIN dissected_runs USING (run)
    LEFT JOIN (SELECT run, depth_score AS by_max FROM depth_scores WHERE sublayer IS NULL AND stat = 'max') USING (run)
    GROUP BY label, place
),
growths AS (
    SELECT place, prompts || ': ' || any_value(easiest) || ' to ' || any_value(hardest) AS prompts,
        avg(growth) AS growth, any_value(standard_error) FILTER (run = representative) AS standard_error,
        avg(output_growth) AS output_growth,
        any_value(output_standard_error) FILTER (run = representative) AS output_standard_error, avg(answered) AS answered
    FROM depth_growth JOIN dissected_runs USING (run)
    GROUP BY place, depth_growth.prompts
)
SELECT label AS setup, depth_score, by_max, output_depth_score, prompts, growth, standard_error, output_growth,
    output_standard_error, answered, seeds
FROM held_out LEFT JOIN growths USING (place)
ORDER BY place, prompts
