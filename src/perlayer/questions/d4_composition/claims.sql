-- Judged on the baseline: tokens matter until about the middle when that is less than a sixth of the depth from it, and
-- no sign of composition is left when a line through the layers until which the tokens of a text matter rises by less
-- than a sixth of the depth from the first that counts to the last. Noise is that of view depth_findings.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'By residual erasure, tokens matter until about the middle', 'until mid-depth (figure 6)'),
    (2, 'By residual erasure, later tokens matter until no deeper layer', 'no sign of composition (figure 6)'),
    (3, 'By integrated gradients, later tokens matter until no deeper layer', 'no sign of composition (figure 6)')
),
found AS (
    SELECT * FROM depth_findings WHERE full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
measured AS (
    SELECT 1 AS position, format('until layer {:.2f} of {}', mean, layers) AS measured,
        [layers / 6 - abs(mean - layers / 2)] AS differences, [noise] AS noises
    FROM found WHERE statistic = 'erasure_depth'
    UNION ALL
    SELECT CASE statistic WHEN 'erasure_rise' THEN 2 ELSE 3 END,
        format('{:+.2f} layers from first to last, of {}', round(mean, 2) + 0.0, layers), [layers / 6 - mean], [noise]
    FROM found WHERE statistic IN ('erasure_rise', 'attribution_rise')
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
