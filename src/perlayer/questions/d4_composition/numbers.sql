-- In layers, means over seeds. Until which layer forgetting a token (erasure), or its share of the answer's probability
-- (attribution), is at least half of what it is at most; rise: how much deeper that is for the last token of a text than
-- for the first, of those that count, by least squares.
SELECT label AS setup, avg(value) FILTER (statistic = 'erasure_depth') AS erasure_until, avg(value) FILTER (statistic = 'erasure_rise') AS erasure_rise,
    avg(value) FILTER (statistic = 'attribution_depth') AS attribution_until,
    avg(value) FILTER (statistic = 'attribution_rise') AS attribution_rise, count(DISTINCT run) AS seeds
FROM depth_statistics JOIN dissected_runs USING (run)
WHERE statistic IN ('erasure_depth', 'erasure_rise', 'attribution_depth', 'attribution_rise')
GROUP BY label, place
ORDER BY place
