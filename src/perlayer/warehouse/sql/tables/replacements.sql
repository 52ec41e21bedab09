COMMENT ON TABLE replacements IS 'What replacing layers of a finished model by what their neighbours predict does to its perplexity on held-out text, the best predicted first';
COMMENT ON COLUMN replacements.run IS 'The run, or the published model';
COMMENT ON COLUMN replacements.replaced IS 'How many layers are replaced';
COMMENT ON COLUMN replacements.layer IS 'The last of them';
COMMENT ON COLUMN replacements.degradation IS 'By how many percent perplexity rises';
COMMENT ON COLUMN replacements.low IS 'Lower end of its 95 % interval over documents';
COMMENT ON COLUMN replacements.high IS 'Upper end';
