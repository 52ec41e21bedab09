-- Means over seeds. layers, attention, mlp: relative contribution of the second half over the first, without layer 1;
-- noise: of that of layers. greatest_fall: from one layer to the next, as a share, at layer, in the run of the lowest
-- seed; not above 0 where none falls. cosine_before, cosine_after: of layers with the residual, in the quarters of the
-- depth before and after the middle.
SELECT label AS setup, max(mean) FILTER (statistic = 'layer_ratio') AS layers,
    max(noise) FILTER (statistic = 'layer_ratio') AS noise,
    max(mean) FILTER (statistic = 'attention_ratio') AS attention, max(mean) FILTER (statistic = 'mlp_ratio') AS mlp,
    any_value(drop_share) AS greatest_fall, any_value(drop_layer) AS at_layer,
    max(mean) FILTER (statistic = 'cosine_before_middle') AS cosine_before,
    max(mean) FILTER (statistic = 'cosine_after_middle') AS cosine_after, max(seeds) AS seeds
FROM depth_findings LEFT JOIN (SELECT run, drop_share, drop_layer FROM contribution_drops WHERE sublayer IS NULL)
    USING (run)
GROUP BY label, place
ORDER BY place
