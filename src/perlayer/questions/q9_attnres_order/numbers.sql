-- How the held-out loss of the plain models of each design goes with depth. tau: Kendall's, of layer and loss, mean over
-- seeds; -1 when every layer lowers it. chance: above it the order is no clearer than chance makes (as few rising pairs
-- have a probability of 0.05 or more in a random order). rising: pairs of layers of which the later has the higher loss.
SELECT design_name(residual) AS design, replace(readout, '_', ' ') AS readout, avg(tau) AS tau, any_value(chance) AS chance,
    avg(rising) AS rising, any_value(pairs) AS pairs, count(*) AS seeds
FROM depth_order
GROUP BY residual, depth_order.readout
ORDER BY design_place(residual), residual, array_position(['probes', 'logit_lens', 'tuned_lens'], depth_order.readout)
