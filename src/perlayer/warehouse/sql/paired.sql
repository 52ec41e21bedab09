-- Runs of one seed share initial weights and data order, so their difference is steadier than either loss.
CREATE VIEW paired AS
WITH pairs AS (
    SELECT mine.run, mine.seed, plain.member AS baseline, loss.layer, loss.readout,
        loss.loss - plain_loss.loss AS difference
    FROM groups AS mine
    JOIN groups AS plain ON plain.plain AND plain.residual = mine.residual AND plain.layers = mine.layers
        AND plain.seed = mine.seed AND plain.member <> mine.member
    JOIN final_loss AS loss ON loss.run = mine.member
    JOIN final_loss AS plain_loss ON plain_loss.run = plain.member
        AND plain_loss.layer = loss.layer AND plain_loss.readout = loss.readout
    WHERE NOT (mine.plain AND mine.readouts = 'none')
    QUALIFY row_number() OVER (
        PARTITION BY mine.run, mine.seed, loss.layer, loss.readout
        ORDER BY mine.ema, mine.member, plain.readouts, plain.ema, plain.member
    ) = 1
)
SELECT run, min_by(baseline, seed) AS baseline, layer, readout, count(*) AS seeds, avg(difference) AS difference,
    stddev_samp(difference) / sqrt(count(*)) AS standard_error
FROM pairs
GROUP BY run, layer, readout;
COMMENT ON VIEW paired IS 'Runs beside the plain baseline of the same design, depth and seed, read in the same way';
COMMENT ON COLUMN paired.run IS 'The group of runs, named after its run of the lowest seed';
COMMENT ON COLUMN paired.baseline IS 'The baseline of the lowest seed';
COMMENT ON COLUMN paired.layer IS 'The layer, from 1';
COMMENT ON COLUMN paired.readout IS 'How the layer was read in both; head at the last layer';
COMMENT ON COLUMN paired.seeds IS 'How many pairs';
COMMENT ON COLUMN paired.difference IS 'Mean over the pairs of final training loss minus that of the baseline, nats per token';
COMMENT ON COLUMN paired.standard_error IS 'Standard error of that mean; null for one pair';
