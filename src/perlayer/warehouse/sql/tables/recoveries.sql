COMMENT ON TABLE recoveries IS 'How long a layer of a finished model takes to recover from noise on its weights when it alone is trained';
COMMENT ON COLUMN recoveries.run IS 'The run, or the published model';
COMMENT ON COLUMN recoveries.layer IS 'The layer, from 1';
COMMENT ON COLUMN recoveries.steps IS 'Updates until perplexity was back; all of them if it was not';
COMMENT ON COLUMN recoveries.recovered IS 'Whether it was back';
COMMENT ON COLUMN recoveries.perturbation IS 'By how many percent noise had raised perplexity';
COMMENT ON COLUMN recoveries.remaining IS 'By how many percent it lies above that of the untouched model at the end';
