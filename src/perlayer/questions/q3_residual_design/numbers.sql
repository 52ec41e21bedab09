-- Final training losses in nats per token, means over seeds: of the last layer of the plain model, read by probes after
-- layer 1 and after the middle layer, and with separate heads there and at the last layer. Columns that end in
-- _minus_baseline are those minus that of the sandwich design. seeds: of the plain model and with separate heads. What the
-- heads cost stands under Q4.
WITH places AS (
    SELECT *, layer = layers AS last, layer = 1 AND layers > 1 AS first_layer,
        layer = (layers + 1) // 2 AND layers > 1 AS middle
    FROM design_layers
)
SELECT design,
    max(mean) FILTER (readouts = 'probes' AND last) AS plain_last,
    max(difference) FILTER (readouts = 'probes' AND last) AS last_minus_baseline,
    max(mean) FILTER (readouts = 'probes' AND first_layer) AS probes_first,
    max(difference) FILTER (readouts = 'probes' AND first_layer) AS first_minus_baseline,
    max(mean) FILTER (readouts = 'probes' AND middle) AS probes_middle,
    max(difference) FILTER (readouts = 'probes' AND middle) AS middle_minus_baseline,
    max(mean) FILTER (readouts = 'separate' AND first_layer) AS separate_first,
    max(mean) FILTER (readouts = 'separate' AND middle) AS separate_middle,
    max(mean) FILTER (readouts = 'separate' AND last) AS separate_last,
    max(difference) FILTER (readouts = 'separate' AND last) AS separate_last_minus_baseline,
    concat_ws(' and ', max(runs) FILTER (readouts = 'probes' AND last), max(runs) FILTER (readouts = 'separate' AND last))
        AS seeds
FROM places
GROUP BY residual, value_residual, design
ORDER BY design_place(residual), residual, value_residual NULLS FIRST
