-- What a run's keys leave out is as usual: every layer loss at weight 1 from first step to last, each training all
-- layers up to its own. A key of a single field may hold its value alone. What this view knows of a key has a short
-- label; of shapes, schedules and keys that it does not know, every argument is spelled out.
CREATE VIEW ways AS
WITH supervised AS (
    SELECT *, coalesce(algorithms -> '$.weighting', '{}'::JSON) AS weights_of,
        coalesce(weights_of ->> '$.shape', 'uniform') AS shape,
        coalesce(weights_of ->> '$.weight', weights_of ->> '$.scale') AS amount_text,
        TRY_CAST(amount_text AS DOUBLE) AS amount,
        TRY_CAST(weights_of -> '$.weights' AS DOUBLE[]) AS weights,
        -- Whether shape and arguments are those that the labels and sums below are made for.
        list_has_all(
            CASE WHEN shape IN ('uniform', 'linear') THEN ['shape', 'weight']
                WHEN shape IN ('inverse', 'layerskip', 'sqrt', 'sum') THEN ['shape', 'scale']
                WHEN shape = 'single' THEN ['shape', 'at', 'weight']
                WHEN shape = 'list' THEN ['shape', 'weights'] ELSE [] END,
            json_keys(weights_of)
        ) AND (shape NOT IN ('single', 'list') OR coalesce(amount, len(weights)) IS NOT NULL)
            AND (amount_text IS NULL OR amount IS NOT NULL) AS known_shape,
        coalesce(algorithms -> '$.schedule', '{}'::JSON) AS schedule_of,
        coalesce(schedule_of ->> '$.kind', 'constant') AS kind,
        CASE kind WHEN 'off' THEN 'step' WHEN 'linear_to_zero' THEN 'steps' WHEN 'rotational' THEN 'every'
            WHEN 'threshold' THEN 'loss' END AS alone,
        CASE WHEN kind IN ('off', 'linear_to_zero') THEN TRY_CAST(json_extract_string(schedule_of, alone) AS DOUBLE)
            END AS duration,
        -- A duration is a number of updates or, below 1, a share of the run.
        CASE WHEN duration >= 1 THEN duration
            WHEN duration * steps IS NOT NULL THEN greatest(1, round_even(duration * steps, 0)) END::INTEGER AS ends
    FROM recipe_runs
    WHERE readouts IN ('separate', 'shared', 'shared_stop_gradient')
)
SELECT run, residual, readouts, seed, layers, full_depth, present, algorithms,
    CASE WHEN NOT known_shape THEN trim(shape || ' ' || arguments(weights_of, ['shape'], ''))
        WHEN shape = 'list' THEN 'list ' || array_to_string(list_transform(weights, lambda x: format('{:g}', x)), ' ')
        WHEN shape = 'single' THEN format('{:g} at layer {}', amount, weights_of ->> '$.at')
        ELSE format('{} {:g}', shape, coalesce(amount, CASE shape WHEN 'layerskip' THEN 0.2 ELSE 1 END))
        END AS weighting,
    -- Linear weights are w 2k/L for k = 1 to L - 1, whose mean is w.
    CASE WHEN NOT known_shape THEN NULL
        WHEN shape IN ('uniform', 'linear') THEN coalesce(amount, 1) * (layers - 1)
        WHEN shape = 'single' THEN amount
        WHEN shape = 'list' THEN list_sum(weights) END AS total,
    trim(replace(kind, '_', ' ') || ' ' || arguments(
        CASE WHEN duration IS NULL THEN schedule_of
            WHEN ends IS NULL THEN json_merge_patch(schedule_of, json_object(alone, format('{:g} %', 100 * duration)))
            ELSE json_merge_patch(schedule_of, json_object(alone, ends)) END,
        ['kind'], coalesce(alone, ''))
    ) AS schedule,
    ends,
    section(algorithms -> '$.gradient_reach', 'reach', 'all below') AS reach,
    section(algorithms -> '$.gradient_surgery', 'kind', 'none') AS surgery,
    CASE WHEN json_exists(algorithms, '$.layer_dropout') THEN concat_ws(' ', algorithms ->> '$.layer_dropout.most',
        coalesce(algorithms ->> '$.layer_dropout.over_training', 'exponential')) ELSE 'none' END AS layer_dropout,
    arguments(algorithms,
        ['weighting', 'schedule', 'gradient_reach', 'gradient_surgery', 'layer_dropout'], '') AS other
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
COMMENT ON COLUMN ways.schedule IS 'How the weights go over training, and the number that says how far; constant when they stay. A share of the run stands as a number of updates once its results are here';
COMMENT ON COLUMN ways.ends IS 'After how many updates a schedule that comes to nothing has left nothing of the layer losses; null for other schedules, and for a share of a run whose results are not here';
COMMENT ON COLUMN ways.reach IS 'Which layers a layer loss trains: all below, or its own layer';
COMMENT ON COLUMN ways.surgery IS 'Whether conflicting gradients are cut at each layer: none or per token';
COMMENT ON COLUMN ways.layer_dropout IS 'The greatest share of dropped samples and how it goes over training; none when no layer is dropped';
COMMENT ON COLUMN ways.other IS 'Keys of the run that no other column tells of, with all they say; empty without any';
