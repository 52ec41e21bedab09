CREATE VIEW recovery_orders AS
SELECT run, max(value) FILTER (metric = 'rank_correlation') AS rho,
    max(value) FILTER (metric = 'rank_correlation_p') AS p,
    max(value) FILTER (metric = 'rank_correlation_p_low') AS p_low
FROM dissections
WHERE analysis = 'recovery' AND starts_with(metric, 'rank_correlation')
GROUP BY run;
COMMENT ON VIEW recovery_orders IS 'Whether layers of a finished model that matter more take longer to recover; without a row where all recover alike';
COMMENT ON COLUMN recovery_orders.run IS 'The run, or the published model';
COMMENT ON COLUMN recovery_orders.rho IS 'Spearman''s rank correlation over layers of how late they recover (of those that do not, how much remains) with importance by neighbour_average';
COMMENT ON COLUMN recovery_orders.p IS 'How likely one at least as high is when the order is random';
COMMENT ON COLUMN recovery_orders.p_low IS 'How likely one at most as high is';
