-- Held-out losses: of probes on all held-out text, of lenses on the first sequences of it, as many as `lens.sequences`
-- says, so that one readout's layers compare, and different readouts where that is all of it. What counts as noise in a
-- step from one layer to the next, a mean over the design's seeds: three standard errors, by the standard deviation of
-- one run's step over seeds, pooled over the designs with several, two degrees of freedom at least; for lenses never less
-- than three standard errors over held-out sequences, of both layers as if they were independent, which is more than
-- enough, since the text is the same, for all seeds too. Where seeds are too few, the text alone tells no noise.
CREATE VIEW depth_steps AS
WITH readings AS (
    SELECT residual, setup, setups.run, seed, ema, layers, 'probes' AS readout, layer, loss, NULL::DOUBLE AS error
    FROM setups JOIN held_out USING (run) WHERE setup = 'probes'
    UNION ALL
    SELECT residual, setup, setups.run, seed, ema, layers, readout, layer, loss, loss_standard_error
    FROM setups JOIN lenses USING (run) WHERE setup IN ('baseline', 'probes') AND layer > 0
),
-- Runs of one seed are the same backbone: it counts once.
seeds AS (
    FROM readings
    QUALIFY row_number() OVER (
        PARTITION BY residual, seed, readout, layer ORDER BY setup = 'baseline', ema, run
    ) = 1
),
steps AS (
    SELECT *, loss - lag(loss) OVER earlier AS rise, error ** 2 + lag(error) OVER earlier ** 2 AS step_variance
    FROM seeds WINDOW earlier AS (PARTITION BY residual, readout, seed ORDER BY layer)
),
designs AS (
    SELECT residual, readout, any_value(layers) AS layers, layer, avg(loss) AS loss, avg(rise) AS rise,
        sqrt(avg(step_variance)) AS text_error, count(*) AS runs,
        coalesce(var_samp(rise), 0) * (count(*) - 1) AS squares
    FROM steps GROUP BY residual, readout, layer
),
pooled AS (
    SELECT readout, layer, CASE WHEN sum(runs - 1) >= 2 THEN sqrt(sum(squares) / sum(runs - 1)) END AS std
    FROM designs GROUP BY readout, layer
)
SELECT residual, readout, layers, layer, loss, rise,
    CASE WHEN layer > 1 AND std IS NOT NULL THEN greatest(3 * std / sqrt(runs), 3 * text_error) END AS noise, runs
FROM designs JOIN pooled USING (readout, layer);
COMMENT ON VIEW depth_steps IS 'How the held-out loss of the plain models of a residual design goes from layer to layer, by what reads it: means over seeds';
COMMENT ON COLUMN depth_steps.residual IS 'The residual design';
COMMENT ON COLUMN depth_steps.readout IS 'probes, logit_lens or tuned_lens';
COMMENT ON COLUMN depth_steps.layers IS 'How many layers the models have';
COMMENT ON COLUMN depth_steps.layer IS 'The layer, from 1';
COMMENT ON COLUMN depth_steps.loss IS 'Held-out loss read after it, nats per token; the head at the last layer of probes';
COMMENT ON COLUMN depth_steps.rise IS 'That minus the loss read after the layer before; below 0 where it falls, as it should; null at layer 1';
COMMENT ON COLUMN depth_steps.noise IS 'What counts as noise in it; null where seeds are too few to tell';
COMMENT ON COLUMN depth_steps.runs IS 'How many seeds of the design have been read in this way';
