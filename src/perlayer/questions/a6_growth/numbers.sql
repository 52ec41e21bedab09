-- Validation loss of growth and of uniform training at the end, nats per token, means over seeds; compute in updates of the
-- whole model.
SELECT budget, method, steps, seeds, uniform_seeds, compute, uniform_compute, val_loss AS growth, uniform_loss AS uniform,
    val_loss - uniform_loss AS difference, uniform_loss / val_loss AS times_lower
FROM growth_effects
ORDER BY list_position(['equal steps', 'equal compute', 'half the budget'], budget), method, steps
