-- Final training loss after every layer, nats per token; setups by their run of the lowest seed.
WITH losses AS (
    SELECT layer, readouts AS setup, loss
    FROM final_loss JOIN recipe_runs AS runs USING (run)
    WHERE residual = 'sandwich' AND standard AND full_depth AND present AND readouts <> 'none'
        AND run IN (SELECT run FROM groups)
    UNION ALL
    SELECT layers, 'depth_matched', loss FROM depth_matched
    WHERE residual = 'sandwich' AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
)
SELECT layer,
    max(loss) FILTER (setup = 'depth_matched') AS depth_matched,
    max(loss) FILTER (setup = 'probes') AS probes,
    max(loss) FILTER (setup = 'separate') AS separate,
    max(loss) FILTER (setup = 'shared') AS shared,
    max(loss) FILTER (setup = 'shared_stop_gradient') AS shared_stop_gradient
FROM losses
GROUP BY layer
ORDER BY layer
