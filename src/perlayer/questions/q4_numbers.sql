-- What separate heads cost the last layer in each design, the cheapest first: final training loss with them minus that
-- without, mean over pairs of one seed, nats per token. less_than_baseline: what the sandwich design pays minus that.
-- fraction: the cost as a share of what the sandwich design pays, where that is above its noise.
SELECT design_name(residual) AS design, plain.loss AS plain, separate.loss AS separate, cost, noise, pairs,
    less AS less_than_baseline, less_noise, fraction, fraction_noise
FROM (SELECT * EXCLUDE (layers), layers AS layer, seeds AS pairs FROM design_costs)
JOIN (SELECT residual, layer, loss FROM design_layers WHERE readouts = 'probes') AS plain USING (residual, layer)
JOIN (SELECT residual, layer, loss FROM design_layers WHERE readouts = 'separate') AS separate USING (residual, layer)
ORDER BY cost, residual
