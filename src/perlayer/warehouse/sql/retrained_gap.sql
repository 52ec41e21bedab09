CREATE VIEW retrained_gap AS
WITH chosen AS (
    SELECT setup, run FROM setups
    WHERE residual = 'sandwich' AND setup IN ('probes', 'separate') AND run IN (SELECT run FROM retraining)
    QUALIFY row_number() OVER (PARTITION BY setup ORDER BY seed, run) = 1
)
PIVOT (
    SELECT layer, setup, before, after, change, standard_error FROM chosen JOIN retraining USING (run)
) ON setup IN ('probes', 'separate')
USING any_value(before) AS before, any_value(after) AS after, any_value(change) AS change,
    any_value(standard_error) AS standard_error;
COMMENT ON VIEW retrained_gap IS 'Probes beside separate heads, before and after both are retrained, in the retrained run of the lowest seed of each: held-out losses, nats per token';
COMMENT ON COLUMN retrained_gap.layer IS 'The layer, from 1';
COMMENT ON COLUMN retrained_gap.probes_before IS 'Loss read by the probe that training left';
COMMENT ON COLUMN retrained_gap.probes_after IS 'Loss read by the retrained probe';
COMMENT ON COLUMN retrained_gap.probes_change IS 'After minus before';
COMMENT ON COLUMN retrained_gap.probes_standard_error IS 'Standard error of that change over held-out sequences';
COMMENT ON COLUMN retrained_gap.separate_before IS 'Loss read by the separate head that training left';
COMMENT ON COLUMN retrained_gap.separate_after IS 'Loss read by the retrained separate head';
COMMENT ON COLUMN retrained_gap.separate_change IS 'After minus before';
COMMENT ON COLUMN retrained_gap.separate_standard_error IS 'Standard error of that change over held-out sequences';
