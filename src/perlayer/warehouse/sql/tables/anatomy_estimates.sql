COMMENT ON TABLE anatomy_estimates IS 'Numbers of one finished model by which claims are judged, with intervals at the confidence of the rule';
COMMENT ON COLUMN anatomy_estimates.run IS 'The run, or the published model';
COMMENT ON COLUMN anatomy_estimates.statistic IS 'Changes of log-perplexity: one_replaced (one layer by its prediction), three_of_ten_over_one, least_importance (by neighbour_average, over all layers at once), over_scaling (a manipulation the whole way minus scaling by 0.9); importance_span: ln of the greatest rise of perplexity over the least, 2 % at least; most_important_early: 1 where the most important layer is one of the first half. Beyond what chance gives: r2_beyond_chance, gate_lead (R2 of gate_proj minus that of another kind), delta_correlation (beside unrelated deltas), delta_excess (beside independent layers)';
COMMENT ON COLUMN anatomy_estimates.part IS 'The kind of manipulation or of matrix that it is about; null for all';
COMMENT ON COLUMN anatomy_estimates.value IS 'The number';
COMMENT ON COLUMN anatomy_estimates.low IS 'The lower end of its interval; null where documents or controls are too few';
COMMENT ON COLUMN anatomy_estimates.high IS 'The upper end';
COMMENT ON COLUMN anatomy_estimates.covers IS 'What the interval covers: text or random controls';
