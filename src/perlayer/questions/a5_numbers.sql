-- By kind of matrix, means over layers and seeds: correlation of consecutive changes of weights from layer to layer, the
-- same before training and of independent layers, and how far it lies from that; share of the variance over layers that
-- the first principal component explains, before training, of independent layers, and how far it lies from that.
SELECT label AS setup, matrix, avg(correlation) AS correlation, avg(deltas.initial) AS before_training,
    avg(deltas.independent) AS independent, avg(deltas.excess) AS from_independent,
    any_value(first.explained) AS first_component, any_value(first.initial) AS component_before_training,
    any_value(first.independent) AS component_independent, any_value(first.excess) AS component_from_independent
FROM delta_correlations AS deltas
JOIN anatomy_runs USING (run)
LEFT JOIN (
    SELECT label, matrix, avg(explained) AS explained, avg(initial) AS initial, avg(independent) AS independent,
        avg(excess) AS excess
    FROM weight_components JOIN anatomy_runs USING (run) WHERE components = 1 GROUP BY label, matrix
) AS first USING (label, matrix)
GROUP BY label, place, matrix
ORDER BY place, list_position(matrices(), matrix)
