-- What skipping one layer changes, means over tokens and seeds, of the second half over the first without layer 1 and
-- the last: in later contributions to future tokens (later), in predictions of future tokens (future) and everywhere.
-- future_share_first, future_share_second: what changes at future tokens over what changes everywhere, by half.
SELECT label AS setup, avg(value) FILTER (statistic = 'future_effect_ratio') AS later,
    avg(value) FILTER (statistic = 'future_output_ratio') AS future,
    avg(value) FILTER (statistic = 'output_ratio') AS everywhere,
    avg(value) FILTER (statistic = 'future_share_first') AS future_share_first,
    avg(value) FILTER (statistic = 'future_share_second') AS future_share_second,
    count(DISTINCT run) AS seeds
FROM depth_statistics JOIN dissected_runs USING (run)
GROUP BY label, place
ORDER BY place
