CREATE VIEW linear_maps AS
WITH numbers AS (
    SELECT run AS pair, split_part(metric, '_', 1) AS kind, substr(metric, length(kind) + 2) AS name,
        layer::BIGINT AS layer, other_layer::BIGINT AS source_layer, value
    FROM dissections WHERE analysis = 'linear_maps'
),
maps AS (
    SELECT pair, kind, layer, source_layer,
        max(layer) OVER pairs AS layers, max(source_layer) OVER pairs AS source_layers,
        max(value) FILTER (name = 'error') AS error, max(value) FILTER (name = 'unexplained') AS unexplained,
        max(value) FILTER (name = 'penalty') AS penalty
    FROM numbers WHERE source_layer IS NOT NULL
    GROUP BY pair, kind, layer, source_layer
    WINDOW pairs AS (PARTITION BY pair, kind)
)
SELECT pair, kind, layer, source_layer, layers, source_layers, error, unexplained, penalty, mean_error,
    abs(source_layer * layers - layer * source_layers) / (layers * source_layers) AS from_diagonal,
    source_layer > 0 AND layer > 0 AND row_number() OVER (
        PARTITION BY pair, kind, layer ORDER BY source_layer = 0, error, source_layer
    ) = 1 AS best
FROM maps
LEFT JOIN (SELECT pair, kind, layer, value AS mean_error FROM numbers WHERE name = 'mean_error')
    USING (pair, kind, layer);
COMMENT ON VIEW linear_maps IS 'How well a linear map takes the layers of one run to those of another, on held-out text';
COMMENT ON COLUMN linear_maps.pair IS 'The pair of runs';
COMMENT ON COLUMN linear_maps.kind IS 'What is mapped to its like: residual (after a layer) or contribution (of a layer)';
COMMENT ON COLUMN linear_maps.layer IS 'The layer of the run to which is mapped, from 1; 0 is the embedding';
COMMENT ON COLUMN linear_maps.source_layer IS 'The layer of the run that is mapped';
COMMENT ON COLUMN linear_maps.layers IS 'How many layers the run to which is mapped has';
COMMENT ON COLUMN linear_maps.source_layers IS 'How many layers the run that is mapped has';
COMMENT ON COLUMN linear_maps.error IS 'Distance of the mapped vector from the true one over the length of that, mean over tokens';
COMMENT ON COLUMN linear_maps.unexplained IS 'Squared error over that of predicting the mean: 0 is a perfect map, 1 no better';
COMMENT ON COLUMN linear_maps.penalty IS 'The penalty of the ridge regression, chosen on other held-out text';
COMMENT ON COLUMN linear_maps.mean_error IS 'The error where the mean is predicted';
COMMENT ON COLUMN linear_maps.from_diagonal IS 'How far the relative depths of both layers are apart, as a share of the depth';
COMMENT ON COLUMN linear_maps.best IS 'Whether no other layer of the run that is mapped does better, from layer 1 on for both';
