-- In layers from 1, means over seeds. depth_score: the mean layer, weighted by what skipping it changes in later
-- contributions to future tokens; output_depth_score: by what that changes in predictions of future tokens. by_max: the
-- depth score of the greatest effects instead of mean ones, as the source takes them, in the run of the lowest seed.
SELECT label AS setup, max(mean) FILTER (statistic = 'depth_score') AS depth_score,
    max(noise) FILTER (statistic = 'depth_score') AS noise, any_value(by_max) AS by_max,
    max(mean) FILTER (statistic = 'output_depth_score') AS output_depth_score,
    max(noise) FILTER (statistic = 'output_depth_score') AS output_noise, max(seeds) AS seeds
FROM depth_findings
LEFT JOIN (SELECT run, depth_score AS by_max FROM depth_scores WHERE sublayer IS NULL AND stat = 'max') USING (run)
GROUP BY label, place
ORDER BY place
