-- What the question asks: whether layers change. No direction was published, so a difference beyond its noise to either
-- side says yes, and where none is there it is within noise: that nothing changes is never shown.
--
-- What counts as noise is in view multi_token_layers: three standard errors over pairs of one seed, and for fewer than
-- three pairs never less than the spread of plain runs. Without any noise nothing is beyond it. By chance alone a mean of
-- two pairs passes three of its standard errors in 20 of 100 cases (t of one degree of freedom), one of three pairs in 10,
-- and any of five independent layers in 68 and 39. Of the layers below the last one is enough, and the measured figure
-- names those; so it takes three pairs to say yes.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Next token: layers below the last change', 'answered (130m), no figure'),
    (2, 'Next token: the last layer changes', 'answered (130m), no figure'),
    (3, 'Token after next: layers below the last change', 'answered (130m), no figure'),
    (4, 'Token after next: the last layer changes', 'answered (130m), no figure')
),
changes AS (
    SELECT *, abs(difference) > coalesce(noise, 'infinity') AS beyond, layer = layers OR seeds >= 3 AS enough
    FROM multi_token_layers
    WHERE residual = 'sandwich' AND full_depth AND NOT at_rung AND way = deepseek_v3() AND ahead <= 2
),
measured AS (
    SELECT 2 * ahead - 1 + (layer = layers)::INTEGER AS position,
        string_agg(signed(difference), ' ' ORDER BY layer) || of_layers(list(layer ORDER BY layer))
            || CASE WHEN bool_or(beyond) THEN '; beyond the noise'
                || of_layers(list(layer ORDER BY layer) FILTER (beyond))
                || CASE WHEN bool_and(enough) THEN '' ELSE ', on too few pairs' END ELSE '' END AS measured,
        CASE WHEN bool_or(beyond AND enough) THEN 'yes' ELSE 'within noise' END AS holds
    FROM changes
    GROUP BY position
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN measured USING (position)
ORDER BY position
