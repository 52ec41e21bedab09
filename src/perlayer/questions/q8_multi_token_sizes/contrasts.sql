-- The question is published as still being tested, without a figure. Related work claims that models up to about 1B do
-- not gain in multi-token prediction and that larger ones gain the more (Gloeckle et al. 2024, on code, by benchmarks):
-- here, of the final training loss of the last layer, nats per token.
WITH
methods AS (SELECT unnest([1.0, -1.0]) AS coefficient),
losses AS (
    SELECT size, CASE WHEN method IS NULL THEN -1.0 ELSE 1.0 END AS coefficient, "group", run, loss AS value, pool
    FROM token_losses
    WHERE residual = 'sandwich' AND full_depth AND readout = 'head' AND (method IS NULL OR method = deepseek_v3())
),
sizes AS (
    SELECT size, max(backbone_parameters) AS parameters FROM runs
    WHERE residual = 'sandwich' AND full_depth AND changes = 'multi_token_prediction' AND multi_token = deepseek_v3()
        AND readouts IN ('none', 'probes')
    GROUP BY size
),
ends AS (
    SELECT unnest([1.0, -1.0]) AS sign,
        unnest([max_by(size, parameters), CASE WHEN count(parameters) > 1 THEN min_by(size, parameters) END]) AS size
    FROM sizes
)
SELECT 'no_gain' AS claim, coalesce(size, 'no size') AS part, 'above' AS side, 0.0 AS threshold, coefficient, "group",
    run, value, pool
FROM methods LEFT JOIN sizes ON true LEFT JOIN losses USING (size, coefficient)
UNION ALL
SELECT 'larger_gain', 'largest minus smallest', 'below', 0.0, sign * coefficient, "group", run, value, pool
FROM methods CROSS JOIN ends LEFT JOIN losses USING (size, coefficient)
