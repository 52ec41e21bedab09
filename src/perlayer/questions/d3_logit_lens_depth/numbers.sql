-- Layers, means over seeds. kl: the first whose input has a KL(lens || final output) below half of the greatest.
-- overlap: the first whose input shares more than a fifth of the five likeliest tokens. One above the depth where no
-- layer is the first. drop_layer: where the relative contribution of layers falls most. kl_middle: that divergence
-- after the middle layer, nats.
SELECT label AS setup, max(mean) FILTER (statistic = 'kl_layer') AS kl,
    max(noise) FILTER (statistic = 'kl_layer') AS kl_noise,
    max(mean) FILTER (statistic = 'overlap_layer') AS overlap,
    max(noise) FILTER (statistic = 'overlap_layer') AS overlap_noise,
    max(mean) FILTER (statistic = 'drop_layer') AS drop_layer, any_value(kl_lens_final) AS kl_middle,
    any_value(top5_overlap) AS overlap_middle, max(seeds) AS seeds
FROM depth_findings
LEFT JOIN residual_lens ON residual_lens.run = depth_findings.run AND layer = (layers + 1) // 2
GROUP BY label, place
ORDER BY place
