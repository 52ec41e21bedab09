-- Width is told by the parameters of a layer, which grow with its square. Depth is held against what width leaves of it and
-- of the loss, which gives the coefficient of both together (Frisch and Waugh 1933). It takes one degree of freedom to tell
-- an error. A run without readouts and one with probes of the same seed are the same backbone: it counts once.
CREATE VIEW depth_regression AS
WITH
plain AS (
    SELECT rung, log2(layers) AS depth, round(log2(backbone_parameters / layers) / 2, 6) AS width, final_loss AS loss
    FROM runs WHERE present AND final_loss IS NOT NULL AND residual = 'sandwich' AND plain
    QUALIFY row_number() OVER (PARTITION BY size, layers, seed ORDER BY readouts, ema, run) = 1
),
scoped AS (
    SELECT 'size in use' AS scope, * FROM plain WHERE rung IS NULL
    UNION ALL
    SELECT 'with rungs', * FROM plain WHERE (SELECT count(rung) > 0 FROM plain)
),
of_width AS (
    SELECT scope, count(*) AS runs, count(DISTINCT depth) AS depths, count(DISTINCT width) AS widths,
        CASE WHEN widths > 1 THEN regr_slope(depth, width) ELSE 0 END AS depth_by_width,
        CASE WHEN widths > 1 THEN regr_slope(loss, width) ELSE 0 END AS loss_by_width,
        avg(loss) AS loss, avg(depth) AS depth, avg(width) AS width, regr_sxx(loss, depth) AS of_depth,
        regr_syy(loss, depth) AS of_loss
    FROM scoped GROUP BY scope HAVING count(DISTINCT depth) > 1
),
rests AS (
    SELECT scope, regr_sxx(rest_of_loss, rest_of_depth) AS spread, regr_syy(rest_of_loss, rest_of_depth) AS rest,
        regr_slope(rest_of_loss, rest_of_depth) AS slope
    FROM of_width AS means JOIN scoped USING (scope)
    CROSS JOIN LATERAL (
        SELECT scoped.loss - loss_by_width * scoped.width AS rest_of_loss,
            scoped.depth - depth_by_width * scoped.width AS rest_of_depth
    )
    GROUP BY scope
),
solved AS (
    SELECT *, CASE WHEN spread > 1e-9 * of_depth THEN slope END AS by_depth, rest - by_depth ** 2 * spread AS unexplained,
        runs - least(widths, 2) - 1 AS degrees_of_freedom
    FROM of_width JOIN rests USING (scope)
)
SELECT scope, runs, depths, widths, by_depth,
    CASE WHEN degrees_of_freedom > 0
        THEN sqrt(greatest(unexplained, 0) / degrees_of_freedom / spread) END AS by_depth_standard_error,
    degrees_of_freedom, CASE WHEN widths > 1 THEN loss_by_width - by_depth * depth_by_width END AS by_width,
    loss - by_depth * depth - coalesce(by_width * width, 0) AS intercept, 1 - unexplained / nullif(of_loss, 0) AS r_squared
FROM solved;
COMMENT ON VIEW depth_regression IS 'Final training loss of plain models of the sandwich design by depth and width: ordinary least squares on their binary logarithms';
COMMENT ON COLUMN depth_regression.scope IS 'Which runs: those of the size in use, or with rungs';
COMMENT ON COLUMN depth_regression.runs IS 'How many';
COMMENT ON COLUMN depth_regression.depths IS 'Of how many depths';
COMMENT ON COLUMN depth_regression.widths IS 'Of how many widths';
COMMENT ON COLUMN depth_regression.by_depth IS 'What twice as many layers add to the loss, nats per token; null where nothing tells it from width';
COMMENT ON COLUMN depth_regression.by_depth_standard_error IS 'Its standard error; null where the runs are too few';
COMMENT ON COLUMN depth_regression.degrees_of_freedom IS 'Of that';
COMMENT ON COLUMN depth_regression.by_width IS 'What twice the width adds; null where all runs are of one width';
COMMENT ON COLUMN depth_regression.intercept IS 'Nats per token';
COMMENT ON COLUMN depth_regression.r_squared IS 'Share of the variance of the losses that it explains';
