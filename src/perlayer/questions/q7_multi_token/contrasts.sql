-- What the question asks: whether layers change; no direction was published. Final training losses, nats per token; below
-- the last layer the mean over the layers of a run.
WITH
readings AS (
    SELECT *, format('{}_{}', CASE ahead WHEN 1 THEN 'next' ELSE 'after' END,
        CASE WHEN layer = layers THEN 'last' ELSE 'below' END) AS claim
    FROM token_losses
    WHERE rung IS NULL AND residual = 'sandwich' AND full_depth AND ahead <= 2 AND readout IN ('probe', 'head')
        AND (method IS NULL OR method = deepseek_v3())
),
numbers AS (
    SELECT claim, CASE WHEN method IS NULL THEN -1.0 ELSE 1.0 END AS coefficient, "group", run, avg(loss) AS value,
        CASE WHEN claim LIKE '%last' THEN any_value(pool)
            ELSE format('mean of layers below {} by probe, {} tokens ahead, {}', layers, ahead, size) END AS pool
    FROM readings GROUP BY claim, method, "group", run, layers, ahead, size
),
parts AS (FROM (VALUES ('next_below'), ('next_last'), ('after_below'), ('after_last')) AS claims (claim))
SELECT claim, CASE WHEN claim LIKE '%last' THEN 'last layer' ELSE 'mean below the last layer' END AS part,
    'differs' AS side, 0.0 AS threshold, coefficient, "group", run, value, pool
FROM parts CROSS JOIN (SELECT unnest([1.0, -1.0]) AS coefficient) LEFT JOIN numbers USING (claim, coefficient)
