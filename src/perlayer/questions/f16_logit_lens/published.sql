-- 130m, six layers, macro average of the losses on Paloma's subsets, nats per token. The heads were trained with the model.
SELECT *
FROM (VALUES
    (1, 9.329, 5.641, 5.621, 5.680),
    (2, 8.784, 4.750, 4.750, 4.797),
    (3, 7.898, 4.437, 4.479, 4.507),
    (4, 7.406, 4.380, 4.408, 4.426),
    (5, 5.351, 4.360, 4.381, 4.401),
    (6, 4.182, 4.348, 4.372, 4.391)
) AS published (layer, baseline_logit_lens, separate_heads, shared_head, shared_stop_gradient)
ORDER BY layer
