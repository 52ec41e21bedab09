CREATE VIEW supervision AS
WITH below AS (
    SELECT seed_group AS run, avg(loss) AS first_layer_loss
    FROM recipe_runs JOIN final_loss USING (run)
    WHERE present AND counts AND layer = 1 AND layers > 1 GROUP BY seed_group
)
SELECT costs.*, first_layer_loss, residual, readouts, seed, layers, full_depth, standard, weighting, total,
    weighted_layers, schedule, schedule_kind, ends, reach, surgery, layer_dropout,
    concat_ws(', ', 'value residual ' || value_residual, 'multi-token prediction (' || multi_token || ')',
        'growth (' || growth || ')', nullif(other, '')) AS other, steps
FROM costs
JOIN recipe_runs AS runs ON runs.seed_group = costs.run AND present AND counts
LEFT JOIN below ON below.run = costs.run
WHERE weighting IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY costs.run ORDER BY seed, runs.run) = 1;
COMMENT ON VIEW supervision IS 'What every supervision of shallow layers costs the last layer, a row a group of runs: means over seeds';
COMMENT ON COLUMN supervision.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN supervision.measured_on IS 'By which loss of the last layer: train, or held out where layers are dropped in training';
COMMENT ON COLUMN supervision.seeds IS 'How many seeds it has';
COMMENT ON COLUMN supervision.loss IS 'Loss of its last layer, nats per token';
COMMENT ON COLUMN supervision.baseline_loss IS 'That of the depth-matched baseline; null where it has not been trained';
COMMENT ON COLUMN supervision.cost IS 'The first minus the second';
COMMENT ON COLUMN supervision.first_layer_loss IS 'Final training loss of layer 1; null for a model of one layer';
COMMENT ON COLUMN supervision.seed IS 'The lowest seed that is here';
