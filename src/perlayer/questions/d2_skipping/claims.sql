-- Judged on the baseline, by means over tokens: what skipping a layer of the second half changes over what skipping one
-- of the first changes must lie below 1, and of what it changes in predictions everywhere a smaller share must reach
-- future tokens. Halves leave out layer 1 and the last layer. Noise is that of view depth_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Skipping layers of the second half changes later layers less at future tokens', 'barely (figure 3)'),
    (2, 'It changes predictions of future tokens less', 'barely (figure 17)'),
    (3, 'A smaller share of what it changes in predictions reaches future tokens', 'yes (figure 17)')
),
found AS (
    SELECT * FROM depth_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
shares AS (
    SELECT format('{:.1f} % after {:.1f} %', 100 * max(mean) FILTER (statistic = 'future_share_second'),
        100 * max(mean) FILTER (statistic = 'future_share_first')) AS said
    FROM found
),
measured AS (
    SELECT CASE statistic WHEN 'future_effect_ratio' THEN 1 ELSE 2 END AS position,
        format('{:.3f} of the first half', mean) AS measured, [1 - mean] AS differences, [noise] AS noises
    FROM found WHERE statistic IN ('future_effect_ratio', 'future_output_ratio')
    UNION ALL
    SELECT 3, (SELECT said FROM shares), [-mean], [noise] FROM found WHERE statistic = 'future_share_change'
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
