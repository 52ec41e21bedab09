-- What a run's keys leave out is as usual: every layer loss at weight 1 from first step to last, each training all
-- layers up to its own. A key of a single field may hold its value alone.
CREATE VIEW ways AS
WITH supervised AS (
    SELECT *, coalesce(algorithms ->> '$.weighting.shape', 'uniform') AS shape,
        coalesce(algorithms ->> '$.weighting.weight', algorithms ->> '$.weighting.scale')::DOUBLE AS amount,
        (algorithms -> '$.weighting.weights')::DOUBLE[] AS weights,
        coalesce(algorithms ->> '$.schedule.kind', 'constant') AS kind
    FROM runs
    WHERE readouts IN ('separate', 'shared', 'shared_stop_gradient') AND list_has_all(
        ['weighting', 'schedule', 'gradient_reach', 'gradient_surgery', 'layer_dropout'], json_keys(algorithms)
    )
)
SELECT run, residual, readouts, seed, layers, full_depth, present, algorithms,
    CASE shape
        WHEN 'list' THEN 'list ' || array_to_string(list_transform(weights, lambda x: format('{:g}', x)), ' ')
        WHEN 'single' THEN format('{:g} at layer {}', amount, algorithms ->> '$.weighting.at')
        ELSE format('{} {:g}', shape, coalesce(amount, CASE shape WHEN 'layerskip' THEN 0.2 ELSE 1 END))
        END AS weighting,
    -- Linear weights are w 2k/L for k = 1 to L - 1, whose mean is w.
    CASE WHEN shape IN ('uniform', 'linear') THEN coalesce(amount, 1) * (layers - 1)
        WHEN shape = 'single' THEN amount
        WHEN shape = 'list' THEN list_sum(weights) END AS total,
    concat_ws(' ', replace(kind, '_', ' '), coalesce(algorithms ->> '$.schedule.step',
        algorithms ->> '$.schedule.steps', algorithms ->> '$.schedule.every', algorithms ->> '$.schedule.loss')
    ) AS schedule,
    replace(coalesce(algorithms ->> '$.gradient_reach.reach', algorithms ->> '$.gradient_reach', 'all below'), '_', ' ')
        AS reach,
    replace(coalesce(algorithms ->> '$.gradient_surgery.kind', algorithms ->> '$.gradient_surgery', 'none'), '_', ' ')
        AS surgery,
    CASE WHEN json_exists(algorithms, '$.layer_dropout') THEN concat_ws(' ', algorithms ->> '$.layer_dropout.most',
        coalesce(algorithms ->> '$.layer_dropout.over_training', 'exponential')) ELSE 'none' END AS layer_dropout
FROM supervised;
COMMENT ON VIEW ways IS 'Every run whose layers are trained to be read, by the way in which they are; whether its results are here or not';
COMMENT ON COLUMN ways.run IS 'The run';
COMMENT ON COLUMN ways.residual IS 'Its residual design';
COMMENT ON COLUMN ways.readouts IS 'How its layers are read: separate, shared or shared_stop_gradient';
COMMENT ON COLUMN ways.seed IS 'The seed of its initial weights';
COMMENT ON COLUMN ways.layers IS 'How many layers it has';
COMMENT ON COLUMN ways.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN ways.present IS 'Whether its results at this size are here';
COMMENT ON COLUMN ways.algorithms IS 'Its further keys, as JSON';
COMMENT ON COLUMN ways.weighting IS 'The shape of the weights over depth, and the weight or scale of it';
COMMENT ON COLUMN ways.total IS 'The sum of the weights of all layers below the last, beside 1 for the last; null for shapes that are normalised with it';
COMMENT ON COLUMN ways.schedule IS 'How the weights go over training, and the number that says how far; constant when they stay';
COMMENT ON COLUMN ways.reach IS 'Which layers a layer loss trains: all below, or its own layer';
COMMENT ON COLUMN ways.surgery IS 'Whether conflicting gradients are cut at each layer: none or per token';
COMMENT ON COLUMN ways.layer_dropout IS 'The greatest share of dropped samples and how it goes over training; none when no layer is dropped';
