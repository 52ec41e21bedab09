-- Every supervision of the shallow layers, the cheapest for the last layer first, means over seeds. Losses are final
-- training losses in nats per token, of the last layer held-out losses where measured_on says so (layers are dropped in
-- training): that of the last layer minus the baseline, and that of layer 1. total: the sum of the weights below the last
-- layer, beside 1 for the last; empty where all are divided by their sum. What is empty further right is as usual.
SELECT run, cost AS minus_baseline, seeds, first_layer_loss AS layer_1, readouts, weighting, total,
    nullif(schedule, 'constant') AS schedule, nullif(reach, 'all below') AS reach, nullif(surgery, 'none') AS surgery,
    nullif(layer_dropout, 'none') AS layer_dropout, nullif(other, '') AS other, nullif(measured_on, 'train') AS measured_on
FROM supervision
WHERE residual = 'sandwich' AND full_depth
ORDER BY cost NULLS LAST, run
