-- 130m, six layers, final training loss in nats per token; what was not published is empty.
SELECT *
FROM (VALUES
    (1, 3.971, NULL, NULL, NULL, NULL),
    (2, 3.543, 4.643, NULL, 3.669, NULL),
    (3, 3.417, 4.216, NULL, 3.505, NULL),
    (4, 3.343, 3.941, NULL, 3.437, NULL),
    (5, 3.294, 3.503, NULL, 3.406, NULL),
    (6, 3.260, 3.257, NULL, 3.392, NULL)
) AS published (layer, depth_matched, probes, separate, shared, shared_stop_gradient)
ORDER BY layer
