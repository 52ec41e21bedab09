CREATE VIEW recovery_orders AS
SELECT run, value AS rho
FROM dissections
WHERE analysis = 'recovery' AND metric = 'rank_correlation';
COMMENT ON VIEW recovery_orders IS 'Whether layers of a finished model that matter more take longer to recover; without a row where all recover alike';
COMMENT ON COLUMN recovery_orders.run IS 'The run, or the published model';
COMMENT ON COLUMN recovery_orders.rho IS 'Spearman''s rank correlation over layers of how late they recover (of those that do not, how much remains) with importance by neighbour_average';
