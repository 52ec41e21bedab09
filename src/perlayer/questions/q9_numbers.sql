-- How the held-out loss of a plain model goes with depth, of each design the run of the lowest seed. tau: Kendall's, of
-- layer and loss; -1 when every layer lowers it. p: how likely no more pairs of layers rise when their order says
-- nothing. rises: the layers that end above the one before by more than the noise.
SELECT design_name(residual) AS design, replace(readout, '_', ' ') AS readout, tau, rising, pairs, p,
    array_to_string(rises, ', ') AS rises, falls AS falls_at_every_layer, runs AS seeds
FROM depth_order
ORDER BY design_place(residual), residual, array_position(['probes', 'logit_lens', 'tuned_lens'], readout)
