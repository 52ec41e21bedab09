-- Validation loss of growth and of uniform training at the end, nats per token, means over pairs of one seed; compute in
-- updates of the whole model.
SELECT budget, way, pairs, steps, compute, baseline_compute AS uniform_compute, val_loss AS growth,
    baseline_loss AS uniform, mean_difference AS difference, noise, baseline_loss / val_loss AS times_lower
FROM growth_effects
ORDER BY list_position(['equal steps', 'equal compute', 'half the budget'], budget), way, steps, baseline_steps
