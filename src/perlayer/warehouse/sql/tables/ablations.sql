COMMENT ON TABLE ablations IS 'What taking away a layer or sublayer of a finished model does to its perplexity on held-out text';
COMMENT ON COLUMN ablations.run IS 'The run, or the published model';
COMMENT ON COLUMN ablations.layer IS 'The layer, from 1';
COMMENT ON COLUMN ablations.sublayer IS 'attention or mlp; null for the whole layer';
COMMENT ON COLUMN ablations.way IS 'neighbour_average: its weights become the mean of those of its neighbours; skip: it gives nothing to the residual; mean_ablation: it gives the mean over tokens of what it gives';
COMMENT ON COLUMN ablations.degradation IS 'By how many percent perplexity rises';
COMMENT ON COLUMN ablations.low IS 'Lower end of its 95 % interval over documents';
COMMENT ON COLUMN ablations.high IS 'Upper end';
COMMENT ON COLUMN ablations.category IS 'critical from 100 %, important from 20 %, minor from 2 %, redundant below; anti below -0.5 % if the interval excludes 0';
