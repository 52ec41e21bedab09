-- What separate heads cost the last layer in each design, the cheapest first: final training loss with them minus that
-- without, nats per token, means over seeds. minus_baseline: that minus what Sandwich-LN pays, with its interval, from the
-- table contrasts. seeds: of the model with separate heads.
SELECT design_name(residual) AS design, baseline_loss AS plain, loss AS separate, cost, estimate AS minus_baseline, low,
    high, supervision.seeds
FROM supervision LEFT JOIN contrasts ON question = 'Q3' AND claim = 'cost' AND part = design_name(residual)
WHERE full_depth AND standard AND readouts = 'separate'
ORDER BY cost, residual
