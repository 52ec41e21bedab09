-- The last layer is compared in pairs of one seed. What counts as noise: from three pairs on, three standard errors;
-- for fewer, the spread of plain runs of the recipe's depth, whatever the depth of the run; without either it is not
-- known. Training loss is taken while layers are skipped where layers are dropped, which is no measure of the finished
-- model: such a run is judged by held-out loss throughout, against held-out losses. Layer 1 is never skipped.
CREATE VIEW supervision AS
WITH judged_by AS (
    SELECT run, layer, loss, 'train' AS measured_on FROM final_loss WHERE readout = 'head'
    UNION ALL
    SELECT run, layer, loss, 'held out' FROM held_out WHERE readout = 'head'
),
last AS (
    SELECT groups.run, seed, ema, residual, readouts, layers, full_depth, standard, plain, measured_on, loss
    FROM groups JOIN judged_by ON judged_by.run = member AND layer = layers
    QUALIFY row_number() OVER (PARTITION BY groups.run, seed, measured_on ORDER BY ema, member) = 1
),
floors AS (
    SELECT residual, 'train' AS measured_on, max(spread) AS floor
    FROM noise_floor WHERE readout = 'head' GROUP BY residual
    UNION ALL
    SELECT residual, measured_on, max(loss) - min(loss)
    FROM last WHERE plain AND full_depth AND measured_on = 'held out'
    GROUP BY residual, measured_on HAVING count(DISTINCT seed) > 1
),
baselines AS (
    SELECT residual, layers, seed, measured_on, any_value(loss ORDER BY readouts, run) AS loss
    FROM last WHERE plain GROUP BY residual, layers, seed, measured_on
),
pairs AS (
    SELECT run, measured_on, count(*) AS seeds, avg(last.loss - baselines.loss) AS difference,
        stddev_samp(last.loss - baselines.loss) / sqrt(count(*)) AS standard_error
    FROM last JOIN baselines USING (residual, layers, seed, measured_on)
    GROUP BY run, measured_on
),
-- The same readouts in the usual way, on the same seeds.
usual AS (
    SELECT mine.run, measured_on, count(*) AS pairs, avg(heads.loss - mine.loss) AS saved,
        avg(heads.loss - baselines.loss) AS paid,
        stddev_samp(heads.loss - mine.loss) / sqrt(count(*)) AS saved_error,
        stddev_samp(heads.loss - baselines.loss) / sqrt(count(*)) AS paid_error
    FROM last AS mine
    JOIN last AS heads USING (residual, readouts, layers, seed, measured_on)
    JOIN baselines USING (residual, layers, seed, measured_on)
    WHERE NOT mine.standard AND heads.standard
    GROUP BY mine.run, measured_on
)
SELECT ways.* EXCLUDE (present), last.loss, below.loss AS first_layer_loss, difference, standard_error, seeds,
    CASE WHEN seeds >= 3 THEN 3 * standard_error WHEN seeds > 0 THEN floor END AS noise,
    saved, CASE WHEN pairs >= 3 THEN 3 * saved_error WHEN pairs > 0 THEN floor END AS saved_noise,
    CASE WHEN paid > CASE WHEN pairs >= 3 THEN 3 * paid_error ELSE floor END THEN saved / paid END AS removed,
    last.measured_on, floor
FROM ways
JOIN last ON last.run = ways.run AND last.seed = ways.seed
    AND last.measured_on = CASE ways.layer_dropout WHEN 'none' THEN 'train' ELSE 'held out' END
LEFT JOIN final_loss AS below ON below.run = ways.run AND below.layer = 1 AND ways.layers > 1
LEFT JOIN pairs ON pairs.run = ways.run AND pairs.measured_on = last.measured_on
LEFT JOIN usual ON usual.run = ways.run AND usual.measured_on = last.measured_on
LEFT JOIN floors ON floors.residual = ways.residual AND floors.measured_on = last.measured_on;
COMMENT ON VIEW supervision IS 'What every way to supervise shallow layers costs the last layer, one row a group of runs that differ in nothing but seed or EMA';
COMMENT ON COLUMN supervision.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN supervision.seed IS 'The lowest seed';
COMMENT ON COLUMN supervision.other IS 'What no other column here tells of it, in words; empty without';
COMMENT ON COLUMN supervision.loss IS 'Loss of the last layer in the run of the lowest seed, nats per token: final training loss, or held-out loss (measured_on)';
COMMENT ON COLUMN supervision.first_layer_loss IS 'Final training loss of layer 1 in the same run; null for a model of one layer';
COMMENT ON COLUMN supervision.difference IS 'Mean over pairs of one seed of the loss of the last layer minus that of the plain model of the same depth; null without one';
COMMENT ON COLUMN supervision.standard_error IS 'Standard error of that mean; null for one pair';
COMMENT ON COLUMN supervision.seeds IS 'How many pairs';
COMMENT ON COLUMN supervision.noise IS 'What counts as noise in the difference: three standard errors from three pairs on, else the spread of plain runs; null without either: it is not known';
COMMENT ON COLUMN supervision.saved IS 'How much lower the last layer ends than with the same readouts in the usual way, mean over pairs of one seed; null for those themselves';
COMMENT ON COLUMN supervision.saved_noise IS 'What counts as noise in that, in the same way';
COMMENT ON COLUMN supervision.removed IS 'That as a share of what the usual way costs on the same seeds; null where that is no more than noise, or the noise is not known';
COMMENT ON COLUMN supervision.measured_on IS 'By which loss of the last layer the run is judged, and all that it is held against: train, or held out where layers are dropped in training';
COMMENT ON COLUMN supervision.floor IS 'The spread in that loss of plain runs that differ in nothing but seed or EMA: the noise of one pair; null without them';
