-- Every way to supervise the shallow layers, the cheapest for the last layer first. Losses are final training losses in
-- nats per token, of the last layer held-out losses where measured_on says so (layers are dropped in training): that of the last layer minus the baseline of the same seed, with what counts as noise in it, and that
-- of layer 1. removed: the share of what the same readouts cost in the usual way, at weight 1 and full reach, on the same
-- seeds, where that is above the noise. total: the sum of the weights below the last layer, beside 1 for the last; empty
-- where all are divided by their sum. What is empty further right is as usual.
SELECT run, difference AS minus_baseline, noise, seeds AS pairs, removed, first_layer_loss AS layer_1, readouts, weighting,
    total, nullif(schedule, 'constant') AS schedule, nullif(reach, 'all below') AS reach,
    nullif(surgery, 'none') AS surgery, nullif(layer_dropout, 'none') AS layer_dropout, nullif(other, '') AS other,
    nullif(measured_on, 'train') AS measured_on
FROM supervision
WHERE residual = 'sandwich' AND full_depth
ORDER BY difference NULLS LAST, run
