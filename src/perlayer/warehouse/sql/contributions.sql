CREATE VIEW contributions AS
SELECT run, layer, sublayer,
    max(value) FILTER (metric = 'relative_contribution' AND stat = 'mean') AS relative_contribution,
    max(value) FILTER (metric = 'relative_contribution' AND stat = 'p95') AS relative_contribution_p95,
    max(value) FILTER (metric = 'relative_contribution' AND stat = 'max') AS greatest_relative_contribution,
    max(value) FILTER (metric = 'cosine' AND stat = 'mean') AS cosine,
    max(value) FILTER (metric = 'residual_cosine' AND stat = 'mean') AS residual_cosine,
    max(value) FILTER (metric = 'contribution_norm' AND stat = 'mean') AS contribution_norm,
    max(value) FILTER (metric = 'residual_norm' AND stat = 'mean') AS residual_norm,
    max(value) FILTER (metric = 'relative_contribution_without_first' AND stat = 'mean')
        AS relative_contribution_without_first,
    max(value) FILTER (metric = 'cosine_without_first' AND stat = 'mean') AS cosine_without_first
FROM dissections
WHERE analysis = 'contributions'
GROUP BY run, layer, sublayer;
COMMENT ON VIEW contributions IS 'What every layer and sublayer of a finished model adds to the residual stream, means over the tokens of held-out text';
COMMENT ON COLUMN contributions.layer IS 'The layer, from 1; 0 is the embedding, which has a residual alone';
COMMENT ON COLUMN contributions.sublayer IS 'attention or mlp of that layer; null for the whole layer';
COMMENT ON COLUMN contributions.relative_contribution IS 'Length of what is added over that of the residual it is added to';
COMMENT ON COLUMN contributions.relative_contribution_p95 IS 'What that does not exceed at 95 % of tokens';
COMMENT ON COLUMN contributions.greatest_relative_contribution IS 'The same at the token where it is greatest';
COMMENT ON COLUMN contributions.cosine IS 'Of what is added with the residual it is added to: above 0 it amplifies, below 0 it erases';
COMMENT ON COLUMN contributions.residual_cosine IS 'Of the residuals before and after the layer; null for sublayers';
COMMENT ON COLUMN contributions.contribution_norm IS 'Length of what is added';
COMMENT ON COLUMN contributions.residual_norm IS 'Length of the residual after the layer; null for sublayers';
COMMENT ON COLUMN contributions.relative_contribution_without_first IS 'relative_contribution over tokens that are not the first of their text';
COMMENT ON COLUMN contributions.cosine_without_first IS 'cosine over those tokens';
