CREATE VIEW replacements AS
SELECT run, strength::INTEGER AS replaced, layer,
    max(value) FILTER (stat = 'mean') AS degradation,
    max(value) FILTER (stat = 'low') AS low,
    max(value) FILTER (stat = 'high') AS high
FROM dissections
WHERE analysis = 'replacement' AND metric = 'replaced'
GROUP BY run, strength, layer;
COMMENT ON VIEW replacements IS 'What replacing layers of a finished model by what their neighbours predict does to its perplexity on held-out text, the best predicted first';
COMMENT ON COLUMN replacements.run IS 'The run, or the published model';
COMMENT ON COLUMN replacements.replaced IS 'How many layers are replaced';
COMMENT ON COLUMN replacements.layer IS 'The last of them';
COMMENT ON COLUMN replacements.degradation IS 'By how many percent perplexity rises';
COMMENT ON COLUMN replacements.low IS 'Lower end of its 95 % interval over documents';
COMMENT ON COLUMN replacements.high IS 'Upper end';
