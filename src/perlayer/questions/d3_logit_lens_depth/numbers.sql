-- Layers, means over seeds. kl: the first whose input has a KL(lens || final output) below half of the greatest.
-- overlap: the first whose input shares more than a fifth of the five likeliest tokens. One above the depth where no
-- layer is the first. drop_layer: where the relative contribution of layers falls most. kl_middle: that divergence
-- after the middle layer, nats; with overlap_middle in the run of the lowest seed.
SELECT label AS setup, avg(value) FILTER (statistic = 'kl_layer') AS kl, avg(value) FILTER (statistic = 'overlap_layer') AS overlap,
    avg(value) FILTER (statistic = 'drop_layer') AS drop_layer,
    any_value(kl_lens_final) FILTER (run = representative) AS kl_middle,
    any_value(top5_overlap) FILTER (run = representative) AS overlap_middle, count(DISTINCT run) AS seeds
FROM depth_statistics JOIN dissected_runs USING (run)
LEFT JOIN residual_lens ON residual_lens.run = depth_statistics.run AND layer = (layers + 1) // 2
GROUP BY label, place
ORDER BY place
