-- How far the layer that maps best onto each layer is from the same relative depth, as a share of the depth (distance):
-- the least that this can be, what chance gives, and how likely chance gives no more (p). nearest: share of layers onto
-- which the nearest to that depth maps best. error: relative, of the best maps; mean_error: where the mean is predicted.
SELECT replace(pair, '_', ' ') AS pair, kind, source_layers, layers, distance, least, chance, p, nearest, error,
    mean_error
FROM map_diagonals
ORDER BY source_layers >= layers, pair, kind DESC
