-- Of each setup the retrained run of the lowest seed. What counts as noise is the greatest spread of held-out losses
-- among runs that differ in nothing but seed or EMA: that of the last layer of plain runs, and that of the layer itself
-- within its own setup. Without either it is not known (null).
CREATE VIEW retrained_gap AS
WITH floors AS (
    SELECT setups.residual, max(spread) AS floor
    FROM held_out_spread AS spreads JOIN setups ON setups.run = spreads.run
    WHERE setup IN ('baseline', 'probes') AND layer = layers
    GROUP BY setups.residual
),
chosen AS (
    SELECT residual, setup, run, lead
    FROM setups
    WHERE setup IN ('probes', 'separate') AND run IN (SELECT run FROM retraining)
    QUALIFY row_number() OVER (PARTITION BY residual, setup ORDER BY seed, ema, run) = 1
),
sides AS (
    SELECT residual, setup, chosen.run, retraining.layer, before, after, change, standard_error,
        greatest(floor, spread) AS noise
    FROM chosen
    JOIN retraining USING (run)
    LEFT JOIN held_out_spread AS spreads
        ON spreads.run = lead AND spreads.layer = retraining.layer AND spreads.readout = retraining.readout
    LEFT JOIN floors USING (residual)
),
beside AS (
    SELECT residual, layer, probes.run AS probes, separate.run AS separate,
        probes.before AS probes_before, probes.after AS probes_after, probes.change AS probes_change,
        probes.standard_error AS probes_standard_error, probes.noise AS probes_noise,
        separate.before AS separate_before, separate.after AS separate_after, separate.change AS separate_change,
        separate.standard_error AS separate_standard_error, separate.noise AS separate_noise,
        probes.before - separate.before AS gap_before, probes.after - separate.after AS gap_after,
        CASE WHEN probes.noise + separate.noise IS NOT NULL THEN greatest(probes.noise, separate.noise) END AS noise
    FROM (SELECT * FROM sides WHERE setup = 'probes') AS probes
    FULL JOIN (SELECT * FROM sides WHERE setup = 'separate') AS separate USING (residual, layer)
)
SELECT * EXCLUDE noise, CASE WHEN gap_before > noise THEN 1 - gap_after / gap_before END AS closed, noise,
    layer = max(layer) OVER (PARTITION BY residual) AS last
FROM beside;
COMMENT ON VIEW retrained_gap IS 'Probes beside separate heads, before and after both are retrained: held-out losses, nats per token';
COMMENT ON COLUMN retrained_gap.residual IS 'The residual design of both';
COMMENT ON COLUMN retrained_gap.layer IS 'The layer, from 1';
COMMENT ON COLUMN retrained_gap.probes IS 'The run with probes; null when none has been retrained';
COMMENT ON COLUMN retrained_gap.separate IS 'The run with separate heads; null when none has been retrained';
COMMENT ON COLUMN retrained_gap.probes_before IS 'Loss read by the probe that training left';
COMMENT ON COLUMN retrained_gap.probes_after IS 'Loss read by the retrained probe';
COMMENT ON COLUMN retrained_gap.probes_change IS 'After minus before';
COMMENT ON COLUMN retrained_gap.probes_standard_error IS 'Standard error of that change over held-out sequences';
COMMENT ON COLUMN retrained_gap.probes_noise IS 'What seeds change in the loss of the probes or of the last layer; null without seeds';
COMMENT ON COLUMN retrained_gap.separate_before IS 'Loss read by the separate head that training left';
COMMENT ON COLUMN retrained_gap.separate_after IS 'Loss read by the retrained separate head';
COMMENT ON COLUMN retrained_gap.separate_change IS 'After minus before';
COMMENT ON COLUMN retrained_gap.separate_standard_error IS 'Standard error of that change over held-out sequences';
COMMENT ON COLUMN retrained_gap.separate_noise IS 'What seeds change in the loss of the separate heads or of the last layer; null without seeds';
COMMENT ON COLUMN retrained_gap.gap_before IS 'Probes minus separate heads, as training left them';
COMMENT ON COLUMN retrained_gap.gap_after IS 'Probes minus separate heads, both retrained';
COMMENT ON COLUMN retrained_gap.closed IS 'The share of the gap that retraining closes; null where the gap lies within the noise, or that is not known';
COMMENT ON COLUMN retrained_gap.noise IS 'The greater of probes_noise and separate_noise; null without both';
COMMENT ON COLUMN retrained_gap.last IS 'Whether it is the last layer, which the head of the model reads';
