-- Judged on the residuals of pairs of a shallower and a deeper plain model of one design, a part a pair: how far from the
-- same relative depth the layers are that map best, beside what it is when any is equally likely to, counted as if what
-- maps best onto a layer said nothing of what maps best onto its neighbours. A twentieth of the depth is no difference.
WITH plain AS (SELECT run, residual FROM recipe_runs WHERE plain),
measured AS (
    SELECT 'diagonal' AS claim, pair, target, distance, chance, least_chance, most_chance
    FROM map_diagonals JOIN pairs USING (pair)
    JOIN plain AS shallow ON shallow.run = source
    JOIN plain AS deep ON deep.run = target AND deep.residual = shallow.residual
    WHERE kind = 'residual' AND source_layers < layers
)
SELECT claim, coalesce(replace(pair, '_', ' '), 'pair') AS part, 'below' AS side, 0.0 AS threshold, 1.0 AS coefficient,
    target AS "group", target AS run, distance - chance AS value, NULL AS pool, 0.05 AS smallest_effect,
    distance - most_chance AS low, distance - least_chance AS high, 'random controls' AS covers
FROM (VALUES ('diagonal')) AS claims (claim) LEFT JOIN measured USING (claim)
