-- Judged on the baseline: the layer at which the lens comes near the output must be less than a sixth of the depth away
-- from the layer at which contributions fall most (means over seeds); noise is that of view depth_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'The KL of the logit lens falls where contributions drop', 'at about the same depth (figure 4)'),
    (2, 'Its top-5 overlap rises where contributions drop', 'at about the same depth (figure 4)')
),
found AS (
    SELECT * FROM depth_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
layer_of AS (SELECT statistic, mean FROM found WHERE statistic IN ('kl_layer', 'overlap_layer', 'drop_layer')),
measured AS (
    SELECT CASE distance.statistic WHEN 'kl_distance' THEN 1 ELSE 2 END AS position,
        format('layer {:.3g}, the drop at {:.3g} of {}', mine.mean, fall.mean, layers) AS measured,
        [layers / 6 - distance.mean] AS differences, [noise] AS noises
    FROM found AS distance
    JOIN layer_of AS mine ON mine.statistic = replace(distance.statistic, '_distance', '_layer')
    JOIN layer_of AS fall ON fall.statistic = 'drop_layer'
    WHERE distance.statistic IN ('kl_distance', 'overlap_distance')
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
