-- Final training loss of the last layer by depth, nats per token, means over seeds: of the plain model, of that with
-- separate heads, and the second minus the first with its interval, from the table contrasts.
SELECT layers AS depth, baseline_loss AS plain, loss AS separate, cost, low, high, supervision.seeds
FROM supervision LEFT JOIN contrasts ON question = 'Q2' AND part = format('{} layers', layers)
WHERE residual = 'sandwich' AND readouts = 'separate' AND standard
ORDER BY layers
