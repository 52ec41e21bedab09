-- Distances from the diagonal are counted in units of the smallest difference of relative depths that the two numbers of
-- layers allow, so that their sums are whole numbers. How likely each sum is, when every source layer is equally likely
-- to be the best, is built up layer by layer, as if the best of each target layer were independent of its neighbours'.
-- Those are alike in truth, so that a small sum is more likely by chance than that says.
CREATE VIEW map_diagonals AS
WITH RECURSIVE
found AS (
    SELECT pair, kind, layers, source_layers, error, mean_error, best, from_diagonal,
        min(from_diagonal) OVER (PARTITION BY pair, kind, layer) AS least,
        abs(source_layer * layers - layer * source_layers) // gcd(layers, source_layers) AS units
    FROM linear_maps WHERE layer > 0 AND source_layer > 0
),
random_sources (layers, source_layers, layer, total, probability) AS (
    SELECT DISTINCT layers, source_layers, 0::BIGINT, 0::BIGINT, 1.0::DOUBLE FROM found
    UNION ALL
    SELECT layers, source_layers, layer + 1, total + units, sum(probability) / source_layers
    FROM (
        SELECT *, abs(unnest(range(1, source_layers + 1)) * layers - (layer + 1) * source_layers)
            // gcd(layers, source_layers) AS units
        FROM random_sources WHERE layer < layers
    )
    GROUP BY layers, source_layers, layer, total + units
),
sums AS (
    SELECT layers, source_layers, total,
        total * gcd(layers, source_layers) / (layers * layers * source_layers) AS distance,
        sum(probability) OVER (PARTITION BY layers, source_layers ORDER BY total) AS p
    FROM random_sources WHERE layer = layers
),
pairs AS (
    SELECT pair, kind, layers, source_layers, sum(units) FILTER (best)::BIGINT AS total,
        avg(least) FILTER (best) AS least, avg(from_diagonal) AS chance,
        avg(CAST(from_diagonal = least AS INTEGER)) FILTER (best) AS nearest,
        avg(error) FILTER (best) AS error, avg(mean_error) FILTER (best) AS mean_error
    FROM found GROUP BY pair, kind, layers, source_layers
)
SELECT pair, kind, layers, source_layers, distance, least, chance, least_chance, most_chance, p, nearest, error, mean_error
FROM pairs
JOIN sums USING (layers, source_layers, total)
JOIN (
    SELECT layers, source_layers, min(distance) FILTER (2 * p > 1 - confidence) AS least_chance,
        min(distance) FILTER (2 * p >= 1 + confidence) AS most_chance
    FROM sums CROSS JOIN rule GROUP BY layers, source_layers
) USING (layers, source_layers);
COMMENT ON VIEW map_diagonals IS 'Whether layers of two runs at the same relative depth map best onto each other, from layer 1 on for both';
COMMENT ON COLUMN map_diagonals.pair IS 'The pair of runs';
COMMENT ON COLUMN map_diagonals.kind IS 'What is mapped to its like: residual (after a layer) or contribution (of a layer)';
COMMENT ON COLUMN map_diagonals.layers IS 'How many layers the run to which is mapped has';
COMMENT ON COLUMN map_diagonals.source_layers IS 'How many layers the run that is mapped has';
COMMENT ON COLUMN map_diagonals.distance IS 'How far the layer that maps best onto each layer is from the same relative depth, as a share of the depth: mean over the layers to which is mapped';
COMMENT ON COLUMN map_diagonals.least IS 'The least that this can be';
COMMENT ON COLUMN map_diagonals.chance IS 'What it would be on average if any layer were equally likely to map best';
COMMENT ON COLUMN map_diagonals.least_chance IS 'Below this chance gives a distance no more often than half of what the confidence of the rule leaves';
COMMENT ON COLUMN map_diagonals.most_chance IS 'Above this, likewise';
COMMENT ON COLUMN map_diagonals.p IS 'How likely chance gives no more than the distance, if the best source of each layer were independent of its neighbours''';
COMMENT ON COLUMN map_diagonals.nearest IS 'Share of the layers to which a layer as near as any to the same relative depth maps best';
COMMENT ON COLUMN map_diagonals.error IS 'Relative error of the best maps, mean over layers';
COMMENT ON COLUMN map_diagonals.mean_error IS 'The same where the mean is predicted';
