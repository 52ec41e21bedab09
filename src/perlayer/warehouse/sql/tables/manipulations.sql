COMMENT ON TABLE manipulations IS 'What manipulating the weights of an unimportant layer of a finished model does to its perplexity on held-out text';
COMMENT ON COLUMN manipulations.run IS 'The run, or the published model';
COMMENT ON COLUMN manipulations.layer IS 'The layer, from 1';
COMMENT ON COLUMN manipulations.kind IS 'Towards what its weights move: scale (zero), noise (themselves plus normal noise of their standard deviation), neighbour_interpolation (the mean of the neighbours), neighbour_copy (the layer before), predicted (what the neighbours predict) or random (normal draws of their standard deviation)';
COMMENT ON COLUMN manipulations.strength IS 'How much of the way, up to 1: scaling by 0.9 is 0.1';
COMMENT ON COLUMN manipulations.degradation IS 'By how many percent perplexity rises';
COMMENT ON COLUMN manipulations.low IS 'Lower end of its 95 % interval over documents';
COMMENT ON COLUMN manipulations.high IS 'Upper end';
