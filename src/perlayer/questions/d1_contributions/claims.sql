-- Judged on the baseline: a ratio of halves must lie below 1, attention's below that of the MLP, the greatest fall from
-- one layer to the next near the middle must be one, above 0, and exceed the greatest elsewhere, and the cosine must be
-- below 0 in the quarter of the depth before the middle and above 0 in the quarter after. Noise is that of view
-- depth_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Layers of the second half add less, relative to the residual', 'much less (figure 2)'),
    (2, 'So does their attention', 'much less (figure 2)'),
    (3, 'Attention falls further than the MLP', 'yes (figure 2)'),
    (4, 'The greatest fall from one layer to the next is near the middle', 'sharp, near the middle (figure 2)'),
    (5, 'The cosine with the residual turns from below 0 to above it at the middle', 'a sharp switch (figure 2)')
),
found AS (
    SELECT * FROM depth_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
drops AS (
    SELECT CASE WHEN greatest > 0 THEN format('greatest {:.0f} %', 100 * greatest) ELSE 'none' END
        || format('; near the middle {:.0f} %', 100 * middle) AS said
    FROM (
        SELECT max(mean) FILTER (statistic = 'drop_share') AS greatest,
            max(mean) FILTER (statistic = 'middle_drop') AS middle
        FROM found
    )
),
measured AS (
    SELECT 1 AS position, format('{:.3f} of the first half', mean) AS measured, [1 - mean] AS differences,
        [noise] AS noises
    FROM found WHERE statistic = 'layer_ratio'
    UNION ALL
    SELECT 2, format('{:.3f} of the first half', mean), [1 - mean], [noise]
    FROM found WHERE statistic = 'attention_ratio'
    UNION ALL
    SELECT 3, format('{:+.3f} between their ratios', mean), [-mean], [noise]
    FROM found WHERE statistic = 'attention_minus_mlp_ratio'
    UNION ALL
    SELECT 4, (SELECT said FROM drops), list(mean ORDER BY statistic), list(noise ORDER BY statistic)
    FROM found WHERE statistic IN ('middle_drop', 'middle_drop_lead') HAVING count(*) = 2
    UNION ALL
    SELECT 5, string_agg(format('{:+.3f}', mean), ' to ' ORDER BY statistic DESC),
        list(CASE statistic WHEN 'cosine_before_middle' THEN -mean ELSE mean END ORDER BY statistic),
        list(noise ORDER BY statistic)
    FROM found WHERE statistic IN ('cosine_before_middle', 'cosine_after_middle') HAVING count(*) = 2
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
