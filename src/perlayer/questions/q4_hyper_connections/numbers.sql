-- What separate heads cost the last layer in each design, the cheapest first: final training loss with them minus that
-- without, nats per token, all three means over the same pairs of one seed. less_than_baseline: what the sandwich design
-- pays minus that. fraction: the cost as a share of what the sandwich design pays, where that is above its noise.
SELECT design_name(residual) AS design, plain, separate, cost, noise, seeds AS pairs, less AS less_than_baseline,
    less_noise, fraction, fraction_noise
FROM design_costs
ORDER BY cost, residual
