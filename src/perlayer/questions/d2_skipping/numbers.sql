-- What skipping one layer changes, means over tokens and seeds, of the second half over the first without layer 1 and
-- the last: in later contributions to future tokens (later), in predictions of future tokens (future) and everywhere.
-- future_share_first, future_share_second: what changes at future tokens over what changes everywhere, by half.
SELECT label AS setup, max(mean) FILTER (statistic = 'future_effect_ratio') AS later,
    max(noise) FILTER (statistic = 'future_effect_ratio') AS later_noise,
    max(mean) FILTER (statistic = 'future_output_ratio') AS future,
    max(noise) FILTER (statistic = 'future_output_ratio') AS future_noise,
    max(mean) FILTER (statistic = 'output_ratio') AS everywhere,
    max(mean) FILTER (statistic = 'future_share_first') AS future_share_first,
    max(mean) FILTER (statistic = 'future_share_second') AS future_share_second, max(seeds) AS seeds
FROM depth_findings
GROUP BY label, place
ORDER BY place
