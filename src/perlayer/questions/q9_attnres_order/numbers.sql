-- How the held-out loss of the plain models of each design goes with depth, means over seeds. tau: Kendall's, of layer
-- and loss; -1 when every layer lowers it. p: how likely no more pairs of layers rise when their order says nothing.
-- rises: the layers that end above the one before by more than the noise; unclear: those that end no further from it.
SELECT design_name(residual) AS design, replace(readout, '_', ' ') AS readout, tau, rising, pairs, p,
    array_to_string(rises, ', ') AS rises,
    CASE WHEN noise_known THEN array_to_string(unclear, ', ') ELSE 'noise not known' END AS unclear,
    falls AS falls_at_every_layer, runs AS seeds
FROM depth_order
ORDER BY design_place(residual), residual, array_position(['probes', 'logit_lens', 'tuned_lens'], readout)
