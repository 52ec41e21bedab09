-- How far designs end apart is the standard deviation over them, each by its run of the lowest seed; in what separate
-- heads cost, each by its mean over pairs. They end apart where that is more than three standard deviations over seeds, at
-- every layer. Value residual, which is no design of its own, stays out. Up to four layers a block of AttnRes is a single
-- sublayer, so that AttnRes block is AttnRes full and counts once with it.
CREATE VIEW design_spread AS
WITH every_end AS (
    SELECT residual, layers, CASE WHEN layer = layers THEN 'last' ELSE readouts END AS measure, layer, loss, seed_std
    FROM design_layers WHERE value_residual IS NULL AND (readouts = 'probes' OR layer < layers)
    UNION ALL
    SELECT residual, layers, 'cost', layers, cost, pair_std FROM design_costs
),
ends AS (
    FROM every_end
    QUALIFY residual <> 'attnres_block' OR layers > 4
        OR NOT bool_or(residual = 'attnres_full') OVER (PARTITION BY measure, layer)
),
layer_spread AS (
    SELECT measure, left_out, layer, count(*) AS designs, stddev_samp(loss) AS std, any_value(seed_std) AS seed_std
    FROM ends JOIN (SELECT NULL AS left_out UNION ALL SELECT DISTINCT residual FROM ends)
        ON residual IS DISTINCT FROM left_out
    GROUP BY measure, left_out, layer HAVING count(*) > 1
)
SELECT measure, left_out, max(designs) AS designs, list(layer ORDER BY layer) AS layers,
    list(std ORDER BY layer) AS stds, list(seed_std ORDER BY layer) AS seed_stds,
    judged(list(std ORDER BY layer), list(3 * seed_std ORDER BY layer)) AS apart
FROM layer_spread
GROUP BY measure, left_out;
COMMENT ON VIEW design_spread IS 'How far residual designs end apart beside seeds of one design, all of them and with each left out';
COMMENT ON COLUMN design_spread.measure IS 'last: the last layer of plain models; probes and separate: every layer below it, read so; cost: what separate heads cost the last layer';
COMMENT ON COLUMN design_spread.left_out IS 'The design that is left out; null for all of them';
COMMENT ON COLUMN design_spread.designs IS 'How many designs there are, at least 2';
COMMENT ON COLUMN design_spread.layers IS 'The layers, from 1';
COMMENT ON COLUMN design_spread.stds IS 'At each of them the sample standard deviation over designs, nats per token';
COMMENT ON COLUMN design_spread.seed_stds IS 'At each of them that of one run, or pair, over seeds; null where seeds are too few';
COMMENT ON COLUMN design_spread.apart IS 'Whether the first is more than three times the second at all of them: yes or within noise';
