-- Judged on the residuals of pairs of a shallower and a deeper plain model of one design: the layers that map best must
-- be nearer to the same relative depth than when any is equally likely to, by more than that comes to in 95 of 100
-- cases, counted as if what maps best onto a layer said nothing of what maps best onto its neighbours.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Layers at the same relative depth map best from a shallow to a deep model', 'a clear diagonal (figure 8)')
),
plain AS (SELECT run, residual FROM recipe_runs WHERE plain),
judged_pairs AS (
    SELECT pair FROM pairs
    JOIN plain AS shallow ON shallow.run = source
    JOIN plain AS deep ON deep.run = target AND deep.residual = shallow.residual
),
measured AS (
    SELECT 1 AS position,
        string_agg(format('{:.3f} of the depth away, {:.3f} by chance (p = {:.2g})', distance, chance, p), '; '
            ORDER BY pair) AS measured,
        judged(list(chance - distance ORDER BY pair), list(chance - within_chance ORDER BY pair)) AS holds
    FROM map_diagonals JOIN judged_pairs USING (pair)
    WHERE kind = 'residual' AND source_layers < layers
    HAVING count(*) > 0
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN measured USING (position)
ORDER BY position
