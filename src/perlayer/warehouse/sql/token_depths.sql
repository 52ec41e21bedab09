-- A token that predicts the answer matters until the last layer whatever the model does, and one that the answer does
-- not see never. The first that it sees is what others fall back on.
CREATE VIEW token_depths AS
WITH effects AS (
    SELECT run, text, position, token, layer, measure, abs(effect) AS effect
    FROM (UNPIVOT token_effects ON erasure, attribution INTO NAME measure VALUE effect)
),
greatest AS (
    SELECT *, max(effect) OVER (PARTITION BY run, measure, text, position) AS greatest FROM effects
),
seen AS (
    SELECT run, measure, text, position, any_value(token) AS token, any_value(greatest) AS greatest,
        max(layer) FILTER (2 * effect >= greatest) AS until, max_by(effect, layer) > 0 AS predicts
    FROM greatest WHERE greatest > 0
    GROUP BY run, measure, text, position
),
later AS (
    SELECT * FROM seen QUALIFY position > min(position) OVER (PARTITION BY run, measure, text)
)
SELECT run, measure, text, position, token, greatest, until,
    (position - min(position) OVER text) / nullif(max(position) OVER text - min(position) OVER text, 0) AS place
FROM later
WHERE NOT predicts
WINDOW text AS (PARTITION BY run, measure, text);
COMMENT ON VIEW token_depths IS 'Until which depth of a finished model the answer of a text rests on each token that it sees, but for the first and those that predict it';
COMMENT ON COLUMN token_depths.measure IS 'erasure, or attribution (integrated gradients, absolute), both of residuals, as in token_effects';
COMMENT ON COLUMN token_depths.text IS 'The text';
COMMENT ON COLUMN token_depths.position IS 'The token of that text, from 0';
COMMENT ON COLUMN token_depths.token IS 'What it says';
COMMENT ON COLUMN token_depths.greatest IS 'Its effect at the depth at which that is greatest';
COMMENT ON COLUMN token_depths.until IS 'The last layer at which its effect is at least half of that';
COMMENT ON COLUMN token_depths.place IS 'Where it stands, from 0 for the first such token of the text to 1 for the last; null for a single one';
