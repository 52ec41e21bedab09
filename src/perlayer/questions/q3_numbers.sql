-- Final training losses in nats per token, of the run of the lowest seed: of the last layer of the plain model, and read
-- by probes and by separate heads after layer 1 and after the middle layer. Columns that end in _minus_baseline are
-- means over seeds minus that of the sandwich design; last_noise: what counts as noise in that of the last layer.
-- separate_minus_plain: what separate heads cost the last layer, in pairs of one seed. seeds: of the plain model.
WITH places AS (
    SELECT *, layer = layers AS last, layer = 1 AND layers > 1 AS first_layer,
        layer = (layers + 1) // 2 AND layers > 1 AS middle
    FROM design_layers
)
SELECT design_name(residual) AS design,
    max(loss) FILTER (readouts = 'probes' AND last) AS plain_last,
    max(difference) FILTER (readouts = 'probes' AND last) AS last_minus_baseline,
    max(noise) FILTER (readouts = 'probes' AND last) AS last_noise,
    max(loss) FILTER (readouts = 'probes' AND first_layer) AS probes_first,
    max(difference) FILTER (readouts = 'probes' AND first_layer) AS first_minus_baseline,
    max(loss) FILTER (readouts = 'probes' AND middle) AS probes_middle,
    max(difference) FILTER (readouts = 'probes' AND middle) AS middle_minus_baseline,
    max(loss) FILTER (readouts = 'separate' AND first_layer) AS separate_first,
    max(loss) FILTER (readouts = 'separate' AND middle) AS separate_middle,
    (SELECT cost FROM design_costs WHERE design_costs.residual = places.residual) AS separate_minus_plain,
    max(runs) FILTER (readouts = 'probes' AND last) AS seeds
FROM places
GROUP BY residual
ORDER BY design_place(residual), residual
