-- The one published statement that growing depth can be held against; it says nothing of a trend. Differences are nats
-- per token, in pairs of one seed.
--
-- What counts as noise is three standard errors from three pairs on, else the spread of plain runs of the recipe's depth;
-- without either nothing is beyond it.
-- One depth that disagrees by more than the noise denies the claim, and one that agrees by less leaves it within noise.
-- It takes two depths to judge it.
WITH costs AS (
    SELECT layers, difference, noise
    FROM supervision
    WHERE residual = 'sandwich' AND readouts = 'separate' AND standard AND difference IS NOT NULL
),
measured AS (
    SELECT
        string_agg(signed(difference), ' ' ORDER BY layers)
            || format(' ({} layers)', string_agg(layers, ', ' ORDER BY layers)) AS measured,
        judged(list(difference), list(noise)) AS holds
    FROM costs HAVING count(*) > 1
)
SELECT 1 AS position,
    'Separate heads: the last layer ends above the plain model of the same depth, at every depth' AS quantity,
    '+0.094 (6 layers, 130m); no figure for another depth' AS published,
    measured, coalesce(holds, 'no run') AS holds
FROM (SELECT 1) LEFT JOIN measured ON true
