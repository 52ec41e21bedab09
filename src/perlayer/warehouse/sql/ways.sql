CREATE VIEW ways AS
SELECT run, residual, readouts, seed, layers, full_depth, present, changes, standard, seed_group, weighting, total,
    weighted_layers, schedule, schedule_kind, ends, reach, surgery, layer_dropout,
    concat_ws(', ', 'value residual ' || value_residual, 'multi-token prediction (' || multi_token || ')',
        'growth (' || growth || ')', nullif(other, '')) AS other
FROM recipe_runs
WHERE weighting IS NOT NULL;
COMMENT ON VIEW ways IS 'Every run whose layers are trained to be read, by the way in which they are; whether its results are here or not';
COMMENT ON COLUMN ways.other IS 'What no other column here tells of it, in words; empty without';
