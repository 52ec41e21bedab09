CREATE VIEW recoveries AS
SELECT run, layer,
    max(value) FILTER (metric = 'recovery_steps')::INTEGER AS steps,
    max(value) FILTER (metric = 'recovered') = 1 AS recovered,
    max(value) FILTER (metric = 'perturbation') AS perturbation,
    max(value) FILTER (metric = 'remaining') AS remaining
FROM dissections
WHERE analysis = 'recovery' AND metric IN ('recovery_steps', 'recovered', 'perturbation', 'remaining')
GROUP BY run, layer;
COMMENT ON VIEW recoveries IS 'How long a layer of a finished model takes to recover from noise on its weights when it alone is trained';
COMMENT ON COLUMN recoveries.run IS 'The run, or the published model';
COMMENT ON COLUMN recoveries.layer IS 'The layer, from 1';
COMMENT ON COLUMN recoveries.steps IS 'Updates until perplexity was back; all of them if it was not';
COMMENT ON COLUMN recoveries.recovered IS 'Whether it was back';
COMMENT ON COLUMN recoveries.perturbation IS 'By how many percent noise had raised perplexity';
COMMENT ON COLUMN recoveries.remaining IS 'By how many percent it lies above that of the untouched model at the end';
