-- Held-out losses, so that probes and lenses read the same text. What counts as noise in a step from one layer to the
-- next: three standard deviations of that step over seeds, pooled over the designs with several, two degrees of freedom
-- at least; for lenses never less than three standard errors over held-out sequences, of both layers as if they were
-- independent, which is more than enough, since the text is the same.
CREATE VIEW depth_steps AS
WITH readings AS (
    SELECT residual, setup, setups.run, seed, ema, layers, 'probes' AS readout, layer, loss, NULL::DOUBLE AS error
    FROM setups JOIN held_out USING (run) WHERE setup = 'probes'
    UNION ALL
    SELECT residual, setup, setups.run, seed, ema, layers, readout, layer, loss, loss_standard_error
    FROM setups JOIN lenses USING (run) WHERE setup IN ('baseline', 'probes') AND layer > 0
    -- Both are the same backbone: it counts once.
    QUALIFY row_number() OVER (
        PARTITION BY residual, seed, readout, layer ORDER BY setup = 'baseline', ema, setups.run
    ) = 1
),
steps AS (
    SELECT *, loss - lag(loss) OVER earlier AS rise, sqrt(error ** 2 + lag(error) OVER earlier ** 2) AS step_error
    FROM readings WINDOW earlier AS (PARTITION BY residual, readout, run ORDER BY layer)
),
designs AS (
    SELECT residual, readout, layer, count(*) AS runs, coalesce(var_samp(rise), 0) * (count(*) - 1) AS squares
    FROM steps GROUP BY residual, readout, layer
),
seeds AS (
    SELECT readout, layer, CASE WHEN sum(runs - 1) >= 2 THEN sqrt(sum(squares) / sum(runs - 1)) END AS std
    FROM designs GROUP BY readout, layer
)
SELECT residual, readout, run, layers, layer, loss, rise,
    CASE WHEN layer > 1 THEN greatest(3 * std, 3 * step_error) END AS noise, runs
FROM steps JOIN designs USING (residual, readout, layer) JOIN seeds USING (readout, layer)
QUALIFY dense_rank() OVER (PARTITION BY residual, readout ORDER BY seed, ema, run) = 1;
COMMENT ON VIEW depth_steps IS 'How the held-out loss of a plain model goes from layer to layer, by what reads it: of each residual design the run of the lowest seed';
COMMENT ON COLUMN depth_steps.residual IS 'The residual design';
COMMENT ON COLUMN depth_steps.readout IS 'probes, logit_lens or tuned_lens';
COMMENT ON COLUMN depth_steps.run IS 'The run';
COMMENT ON COLUMN depth_steps.layers IS 'How many layers it has';
COMMENT ON COLUMN depth_steps.layer IS 'The layer, from 1';
COMMENT ON COLUMN depth_steps.loss IS 'Held-out loss read after it, nats per token; the head at the last layer of probes';
COMMENT ON COLUMN depth_steps.rise IS 'That minus the loss read after the layer before; below 0 where it falls, as it should; null at layer 1';
COMMENT ON COLUMN depth_steps.noise IS 'What counts as noise in it; null where nothing tells';
COMMENT ON COLUMN depth_steps.runs IS 'How many seeds of the design have been read in this way';
