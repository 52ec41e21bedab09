-- Kendall's tau of layer and loss, and how few rising pairs are likely when the order of the layers says nothing. Then the
-- number of rising pairs is that of inversions in a random permutation: layer n + 1 stands equally likely above 0 to n of
-- the layers before it, so that its distribution is that for n layers averaged over n + 1 places (the Mahonian numbers
-- over n!).
CREATE VIEW depth_order AS
WITH RECURSIVE random_order (layers, probabilities) AS (
    SELECT 1, [1.0::DOUBLE]
    UNION ALL
    SELECT layers + 1, list_transform(
        range(len(probabilities) + layers),
        lambda rises: list_sum(list_slice(probabilities, greatest(rises - layers, 0) + 1, rises + 1)) / (layers + 1)
    )
    FROM random_order WHERE layers < (SELECT max(layer) FROM depth_losses)
),
-- The fewest rising pairs that a random order falls short of or meets in 5 of 100 cases or more.
chance AS (
    SELECT layers, list_position(list_transform(
        range(1, len(probabilities) + 1), lambda rises: list_sum(list_slice(probabilities, 1, rises)) >= 0.05
    ), true) - 1 AS rises
    FROM random_order
),
pairs AS (
    SELECT residual, readout, "group", run, seed, size, count(*) AS pairs,
        count(*) FILTER (above.loss > below.loss) AS rising, count(*) FILTER (above.loss < below.loss) AS falling
    FROM depth_losses AS below
    JOIN (SELECT run, readout, layer, loss FROM depth_losses) AS above USING (run, readout)
    WHERE above.layer > below.layer
    GROUP BY ALL
)
SELECT residual, readout, "group", run, seed, size, layers, pairs, rising, (rising - falling) / pairs AS tau,
    CASE WHEN chance.rises > 0 THEN (2 * chance.rises - 1) / pairs - 1 END AS chance
FROM pairs JOIN chance ON layers * (layers - 1) = 2 * pairs;
COMMENT ON VIEW depth_order IS 'Whether the held-out loss of a plain model falls with depth, by what reads it: a row a seed of every residual design';
COMMENT ON COLUMN depth_order.readout IS 'probes, logit_lens or tuned_lens';
COMMENT ON COLUMN depth_order."group" IS 'Runs that differ in nothing but seed or what looks on, named after one of them';
COMMENT ON COLUMN depth_order.pairs IS 'How many pairs of layers';
COMMENT ON COLUMN depth_order.rising IS 'At how many of them the later layer has the higher loss';
COMMENT ON COLUMN depth_order.tau IS 'Kendall''s tau of layer and loss: -1 when every layer lowers it, +1 when every layer raises it';
COMMENT ON COLUMN depth_order.chance IS 'Above it a random order of the layers has no greater tau in 5 of 100 cases or more: the order is no clearer than chance makes; null where no order is, of three layers or fewer';
