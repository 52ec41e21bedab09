-- Ordinary least squares of final training loss on the binary logarithms of depth and width, so that a coefficient is
-- what a doubling does. Width is told by the parameters of a layer, which grow with its square. Two regressors have a
-- closed form; where all runs are of one width, depth stands alone. It takes one degree of freedom to tell an error. A
-- run without readouts and one with probes of the same seed are the same backbone: it counts once.
CREATE VIEW depth_regression AS
WITH
plain AS (
    SELECT rung IS NOT NULL AS at_rung, size, log2(layers) AS depth, round(log2(backbone_parameters / layers) / 2, 6) AS width,
        final_loss AS loss
    FROM runs
    WHERE present AND final_loss IS NOT NULL AND residual = 'sandwich' AND readouts IN ('none', 'probes')
        AND standard
    QUALIFY row_number() OVER (PARTITION BY size, layers, seed ORDER BY readouts, ema, run) = 1
),
scoped AS (
    SELECT 'size in use' AS scope, * FROM plain WHERE NOT at_rung
    UNION ALL
    SELECT 'with rungs', * FROM plain WHERE (SELECT bool_or(at_rung) FROM plain)
),
sums AS (
    SELECT scope, count(*) AS runs, count(DISTINCT size) AS sizes, count(DISTINCT depth) AS depths,
        count(DISTINCT width) AS widths, regr_sxx(loss, depth) AS dd, regr_sxx(loss, width) AS ww,
        regr_sxy(width, depth) AS dw, regr_sxy(loss, depth) AS dy, regr_sxy(loss, width) AS wy,
        regr_syy(loss, depth) AS yy,
        avg(loss) AS loss, avg(depth) AS depth, avg(width) AS width, dd * ww - dw ** 2 AS determinant
    FROM scoped GROUP BY scope
    HAVING count(DISTINCT depth) > 1
),
solved AS (
    SELECT *, widths > 1 AND determinant > 1e-9 * dd * ww AS solvable,
        CASE WHEN solvable THEN (dy * ww - wy * dw) / determinant ELSE dy / dd END AS by_depth,
        CASE WHEN solvable THEN (wy * dd - dy * dw) / determinant END AS by_width,
        runs - CASE WHEN solvable THEN 3 ELSE 2 END AS freedom
    FROM sums
),
scattered AS (
    SELECT *, CASE WHEN freedom > 0
        THEN sqrt(greatest(yy - by_depth * dy - coalesce(by_width * wy, 0), 0) / freedom) END AS residual_std
    FROM solved
)
SELECT scope, runs, sizes, depths, widths, loss - by_depth * depth - coalesce(by_width * width, 0) AS intercept,
    by_depth, residual_std * sqrt(CASE WHEN solvable THEN ww / determinant ELSE 1 / dd END) AS by_depth_standard_error,
    by_width, CASE WHEN solvable THEN residual_std * sqrt(dd / determinant) END AS by_width_standard_error,
    residual_std, CASE WHEN yy > 0 THEN (by_depth * dy + coalesce(by_width * wy, 0)) / yy END AS r_squared
FROM scattered;
COMMENT ON VIEW depth_regression IS 'Final training loss of plain models of the sandwich design by depth and width: ordinary least squares on their binary logarithms';
COMMENT ON COLUMN depth_regression.scope IS 'Which runs: those of the size in use, or with rungs';
COMMENT ON COLUMN depth_regression.runs IS 'How many';
COMMENT ON COLUMN depth_regression.sizes IS 'Of how many sizes';
COMMENT ON COLUMN depth_regression.depths IS 'Of how many depths';
COMMENT ON COLUMN depth_regression.widths IS 'Of how many widths';
COMMENT ON COLUMN depth_regression.intercept IS 'Nats per token';
COMMENT ON COLUMN depth_regression.by_depth IS 'What twice as many layers add to the loss, nats per token';
COMMENT ON COLUMN depth_regression.by_depth_standard_error IS 'Its standard error; null where the runs are too few';
COMMENT ON COLUMN depth_regression.by_width IS 'What twice the width adds, told by the parameters of a layer; null where all runs are of one width, or nothing tells it from depth';
COMMENT ON COLUMN depth_regression.by_width_standard_error IS 'Its standard error';
COMMENT ON COLUMN depth_regression.residual_std IS 'Standard deviation of the losses around the regression, nats per token';
COMMENT ON COLUMN depth_regression.r_squared IS 'Share of the variance of the losses that it explains';
