-- By kind of matrix, means over layers and seeds: correlation of consecutive changes of weights from layer to layer, which
-- takes three layers, the same before training and of independent layers, and how far it lies from that; share of the
-- variance over layers that the first principal component explains, before training, of independent layers, and how far it
-- lies from that.
SELECT label AS setup, matrix, correlation, before_training, independent, from_independent, first_component,
    component_before_training, component_independent, component_from_independent
FROM (
    SELECT label, place, matrix, avg(explained) AS first_component, avg(initial) AS component_before_training,
        avg(independent) AS component_independent, avg(excess) AS component_from_independent
    FROM weight_components JOIN anatomy_runs USING (run) WHERE components = 1 GROUP BY label, place, matrix
)
LEFT JOIN (
    SELECT label, matrix, avg(correlation) AS correlation, avg(initial) AS before_training,
        avg(independent) AS independent, avg(excess) AS from_independent
    FROM delta_correlations JOIN anatomy_runs USING (run) GROUP BY label, matrix
) USING (label, matrix)
ORDER BY place, list_position(matrices(), matrix)
