COMMENT ON TABLE recovery_orders IS 'Whether layers of a finished model that matter more take longer to recover; without a row where all recover alike';
COMMENT ON COLUMN recovery_orders.run IS 'The run, or the published model';
COMMENT ON COLUMN recovery_orders.rho IS 'Spearman''s rank correlation over layers of how late they recover (of those that do not, how much remains) with importance by neighbour_average';
COMMENT ON COLUMN recovery_orders.p_high IS 'How likely chance gives a rank correlation at least as high';
COMMENT ON COLUMN recovery_orders.p_low IS 'How likely chance gives one at most as high';
