-- Kendall's tau of layer and loss, and how likely as few rising pairs are when the order of the layers says nothing.
-- Then the number of rising pairs is that of inversions in a random permutation: layer n + 1 stands equally likely above
-- 0 to n of the layers before it, so that its distribution is that for n layers averaged over n + 1 places (the Mahonian
-- numbers over n!). Equal losses do not rise.
CREATE VIEW depth_order AS
WITH RECURSIVE random_order (layers, probabilities) AS (
    SELECT 1, [1.0::DOUBLE]
    UNION ALL
    SELECT layers + 1, list_transform(
        range(len(probabilities) + layers),
        lambda rises: list_sum(list_slice(probabilities, greatest(rises - layers, 0) + 1, rises + 1)) / (layers + 1)
    )
    FROM random_order WHERE layers < (SELECT max(layer) FROM depth_steps)
),
pairs AS (
    SELECT below.residual, below.readout, count(*) AS pairs, count(*) FILTER (above.loss > below.loss) AS rising,
        count(*) FILTER (above.loss < below.loss) AS falling
    FROM depth_steps AS below
    JOIN depth_steps AS above
        ON above.residual = below.residual AND above.readout = below.readout AND above.layer > below.layer
    GROUP BY below.residual, below.readout
),
steps AS (
    SELECT residual, readout, count(*)::INTEGER AS layers, min(runs) AS runs,
        list(layer ORDER BY layer) FILTER (rise > noise) AS rises,
        list(layer ORDER BY layer) FILTER (rise > 0) AS ups,
        list(layer ORDER BY layer) FILTER (abs(rise) <= noise) AS unclear,
        bool_and(noise IS NOT NULL) FILTER (rise IS NOT NULL) AS noise_known,
        judged(list(-rise) FILTER (rise IS NOT NULL), list(noise) FILTER (rise IS NOT NULL)) AS falls
    FROM depth_steps GROUP BY residual, readout HAVING count(*) > 1
)
SELECT steps.residual, steps.readout, steps.layers, runs, pairs, rising, (rising - falling) / pairs AS tau,
    list_sum(list_slice(probabilities, 1, rising + 1)) AS p, rises, ups, unclear,
    noise_known, falls,
    -- The fewest rising pairs that a random order falls short of or meets in 5 of 100 cases or more.
    2 * list_extract(list_filter(
        range(pairs + 1), lambda rises: list_sum(list_slice(probabilities, 1, rises + 1)) >= 0.05
    ), 1) / pairs - 1 AS chance
FROM steps
JOIN pairs USING (residual, readout)
JOIN random_order ON random_order.layers = steps.layers;
COMMENT ON VIEW depth_order IS 'Whether the held-out loss of a plain model falls with depth, by what reads it: of each residual design the mean over its seeds';
COMMENT ON COLUMN depth_order.residual IS 'The residual design';
COMMENT ON COLUMN depth_order.readout IS 'probes, logit_lens or tuned_lens';
COMMENT ON COLUMN depth_order.layers IS 'How many layers the models have';
COMMENT ON COLUMN depth_order.runs IS 'How many seeds of the design have been read in this way';
COMMENT ON COLUMN depth_order.pairs IS 'How many pairs of layers';
COMMENT ON COLUMN depth_order.rising IS 'At how many of them the later layer has the higher loss';
COMMENT ON COLUMN depth_order.tau IS 'Kendall''s tau of layer and loss: -1 when every layer lowers it, +1 when every layer raises it';
COMMENT ON COLUMN depth_order.p IS 'How likely no more pairs rise when the order of the layers says nothing, exactly';
COMMENT ON COLUMN depth_order.rises IS 'The layers that end above the one before by more than the noise; null without any';
COMMENT ON COLUMN depth_order.ups IS 'The layers that end above the one before at all; null without any';
COMMENT ON COLUMN depth_order.unclear IS 'The layers that end no further from the one before than the noise; null without any';
COMMENT ON COLUMN depth_order.noise_known IS 'Whether seeds tell the noise of every step';
COMMENT ON COLUMN depth_order.falls IS 'Whether every layer ends below the one before: yes, no or within noise';
COMMENT ON COLUMN depth_order.chance IS 'The least tau at which p is 0.05 or more: from there on the order is no clearer than chance makes';
