-- Judged on the baseline: contributions must fall at some layer, and the one at which the lens comes near the output
-- must be less than a sixth of the depth away from that at which they fall most (means over seeds); noise is that of
-- view depth_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'The KL of the logit lens falls where contributions drop', 'at about the same depth (figure 4)'),
    (2, 'Its top-5 overlap rises where contributions drop', 'at about the same depth (figure 4)')
),
found AS (
    SELECT * FROM depth_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
measured AS (
    SELECT CASE near.statistic WHEN 'kl_layer' THEN 1 ELSE 2 END AS position,
        format('layer {:.3g}, ', near.mean)
            || coalesce(format('the drop at {:.3g} of {}', drop_layer.mean, near.layers), 'no drop') AS measured,
        [fall.mean, near.layers / 6 - distance.mean] AS differences, [fall.noise, distance.noise] AS noises
    FROM found AS near
    JOIN found AS fall ON fall.statistic = 'drop_share'
    LEFT JOIN found AS drop_layer ON drop_layer.statistic = 'drop_layer'
    LEFT JOIN found AS distance ON distance.statistic = replace(near.statistic, '_layer', '_distance')
    WHERE near.statistic IN ('kl_layer', 'overlap_layer')
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
