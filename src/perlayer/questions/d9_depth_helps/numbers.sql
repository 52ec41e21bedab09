-- What a doubling adds to the final training loss of plain models, nats per token, by least squares; r_squared: the
-- share of the variance of the losses that it explains. Width is told by the parameters of a layer.
SELECT scope AS runs_used, runs, depths, widths, by_depth, by_depth_standard_error, by_width, r_squared
FROM depth_regression
ORDER BY scope
