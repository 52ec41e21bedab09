-- The last layer is compared in pairs of one seed. What counts as noise: from three pairs on, three standard errors;
-- for fewer, the spread of plain runs of the recipe's depth, whatever the depth of the run.
CREATE VIEW supervision AS
WITH last AS (
    SELECT groups.run, seed, residual, readouts, layers, algorithms, plain, loss
    FROM groups JOIN final_loss ON final_loss.run = member AND layer = layers AND readout = 'head'
    QUALIFY row_number() OVER (PARTITION BY groups.run, seed ORDER BY ema, member) = 1
),
floors AS (SELECT residual, max(spread) AS floor FROM noise_floor WHERE readout = 'head' GROUP BY residual),
pairs AS (
    SELECT paired.run, difference, standard_error, seeds,
        CASE WHEN seeds >= 3 THEN 3 * standard_error ELSE floor END AS noise
    FROM paired
    JOIN groups ON groups.run = paired.run AND member = groups.run AND layers = layer
    LEFT JOIN floors USING (residual)
),
baselines AS (
    SELECT residual, layers, seed, any_value(loss ORDER BY readouts, run) AS loss
    FROM last WHERE plain GROUP BY residual, layers, seed
),
-- The same readouts in the usual way, on the same seeds.
usual AS (
    SELECT mine.run, count(*) AS pairs, avg(heads.loss - mine.loss) AS saved, avg(heads.loss - baselines.loss) AS paid,
        stddev_samp(heads.loss - mine.loss) / sqrt(count(*)) AS saved_error,
        stddev_samp(heads.loss - baselines.loss) / sqrt(count(*)) AS paid_error
    FROM last AS mine
    JOIN last AS heads USING (residual, readouts, layers, seed)
    JOIN baselines USING (residual, layers, seed)
    WHERE mine.algorithms <> '{}' AND heads.algorithms = '{}'
    GROUP BY mine.run
)
SELECT ways.* EXCLUDE (present), last.loss, below.loss AS first_layer_loss, difference, standard_error, seeds, noise,
    saved, CASE WHEN pairs >= 3 THEN 3 * saved_error WHEN pairs > 0 THEN floor END AS saved_noise,
    CASE WHEN paid > coalesce(CASE WHEN pairs >= 3 THEN 3 * paid_error ELSE floor END, 0) THEN saved / paid END
        AS removed
FROM ways
JOIN last USING (run, seed)
LEFT JOIN final_loss AS below ON below.run = ways.run AND below.layer = 1 AND ways.layers > 1
LEFT JOIN pairs AS beside ON beside.run = ways.run
LEFT JOIN usual ON usual.run = ways.run
LEFT JOIN floors ON floors.residual = ways.residual;
COMMENT ON VIEW supervision IS 'What every way to supervise shallow layers costs the last layer, one row a group of runs that differ in nothing but seed or EMA';
COMMENT ON COLUMN supervision.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN supervision.residual IS 'Its residual design';
COMMENT ON COLUMN supervision.readouts IS 'How its layers are read: separate, shared or shared_stop_gradient';
COMMENT ON COLUMN supervision.seed IS 'The lowest seed';
COMMENT ON COLUMN supervision.layers IS 'How many layers it has';
COMMENT ON COLUMN supervision.full_depth IS 'Whether that is the depth of the recipe';
COMMENT ON COLUMN supervision.algorithms IS 'Its further keys, as JSON';
COMMENT ON COLUMN supervision.weighting IS 'The shape of the weights over depth, and the weight or scale of it';
COMMENT ON COLUMN supervision.total IS 'The sum of the weights of all layers below the last, beside 1 for the last; null for shapes that are normalised with it';
COMMENT ON COLUMN supervision.schedule IS 'How the weights go over training, and the number that says how far; constant when they stay';
COMMENT ON COLUMN supervision.reach IS 'Which layers a layer loss trains: all below, or its own layer';
COMMENT ON COLUMN supervision.surgery IS 'Whether conflicting gradients are cut at each layer: none or per token';
COMMENT ON COLUMN supervision.layer_dropout IS 'The greatest share of dropped samples and how it goes over training; none when no layer is dropped';
COMMENT ON COLUMN supervision.loss IS 'Final training loss of the last layer in the run of the lowest seed, nats per token';
COMMENT ON COLUMN supervision.first_layer_loss IS 'Final training loss of layer 1 in the same run; null for a model of one layer';
COMMENT ON COLUMN supervision.difference IS 'Mean over pairs of one seed of the loss of the last layer minus that of the plain model of the same depth; null without one';
COMMENT ON COLUMN supervision.standard_error IS 'Standard error of that mean; null for one pair';
COMMENT ON COLUMN supervision.seeds IS 'How many pairs';
COMMENT ON COLUMN supervision.noise IS 'What counts as noise in the difference: three standard errors from three pairs on, else the spread of plain runs; null without either';
COMMENT ON COLUMN supervision.saved IS 'How much lower the last layer ends than with the same readouts in the usual way, mean over pairs of one seed; null for those themselves';
COMMENT ON COLUMN supervision.saved_noise IS 'What counts as noise in that, in the same way';
COMMENT ON COLUMN supervision.removed IS 'That as a share of what the usual way costs on the same seeds; null where that is no more than noise';
