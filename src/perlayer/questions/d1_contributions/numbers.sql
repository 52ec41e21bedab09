-- Means over seeds. layers, attention, mlp: relative contribution of the second half over the first, without layer 1.
-- greatest_fall: from one layer to the next, as a share, at layer, in the run of the lowest seed; not above 0 where none
-- falls. cosine_before, cosine_after: of layers with the residual, in the quarters of the depth before and after the
-- middle.
SELECT label AS setup, avg(value) FILTER (statistic = 'layer_ratio') AS layers, avg(value) FILTER (statistic = 'attention_ratio') AS attention,
    avg(value) FILTER (statistic = 'mlp_ratio') AS mlp,
    any_value(drop_share) FILTER (run = representative) AS greatest_fall, any_value(drop_layer) FILTER (run = representative) AS at_layer,
    avg(value) FILTER (statistic = 'cosine_before_middle') AS cosine_before,
    avg(value) FILTER (statistic = 'cosine_after_middle') AS cosine_after, count(DISTINCT run) AS seeds
FROM depth_statistics JOIN dissected_runs USING (run)
LEFT JOIN (SELECT run, drop_share, drop_layer FROM contribution_drops WHERE sublayer IS NULL) USING (run)
GROUP BY label, place
ORDER BY place
