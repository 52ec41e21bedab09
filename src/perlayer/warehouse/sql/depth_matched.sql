-- They differ from the baseline in `layers` alone, so they have its seed, which is the lowest of its design.
CREATE VIEW depth_matched AS
WITH baselines AS (
    SELECT residual, min(seed) AS seed
    FROM recipe_runs
    WHERE full_depth AND plain
    GROUP BY residual
)
SELECT residual, groups.layers, loss, member AS run
FROM groups
JOIN baselines USING (residual, seed)
JOIN final_loss ON final_loss.run = member AND final_loss.layer = groups.layers
WHERE plain
QUALIFY row_number() OVER (PARTITION BY residual, groups.layers ORDER BY readouts, ema, member) = 1;
COMMENT ON VIEW depth_matched IS 'Depth-matched baselines: plain runs that differ from the baseline in their depth alone';
COMMENT ON COLUMN depth_matched.residual IS 'Their residual design';
COMMENT ON COLUMN depth_matched.layers IS 'How many layers the model has';
COMMENT ON COLUMN depth_matched.loss IS 'Final training loss of its last layer, nats per token';
