-- Probes leave the backbone as it is: of those of a seed that have been dissected one run stands for both. A published model
-- has no row in runs.
CREATE VIEW dissected_models AS
WITH models AS (
    SELECT 'depth' AS part, run, max(layer) AS layers FROM contributions GROUP BY run
    UNION ALL
    SELECT 'anatomy', run, max(layer) FROM ablations GROUP BY run
),
shown AS (
    SELECT part, residual, setup, label, full_depth, layers, run, seed
    FROM models JOIN (SELECT * EXCLUDE (layers) FROM recipe_runs) USING (run)
    WHERE present
    QUALIFY row_number() OVER (PARTITION BY part, label, seed ORDER BY readouts, ema, length(run), run) = 1
    UNION ALL
    SELECT part, NULL, 'published', run, false, layers, run, NULL FROM models WHERE run NOT IN (SELECT run FROM runs)
)
SELECT *, first_value(run) OVER (PARTITION BY part, label ORDER BY seed) AS representative,
    dense_rank() OVER (PARTITION BY part ORDER BY setup = 'published', NOT full_depth, layers, design_place(residual), residual,
        list_position(['baseline', 'separate', 'shared', 'shared_stop_gradient'], setup), label) AS place
FROM shown;
COMMENT ON VIEW dissected_models IS 'The models that have been dissected, of runs one a seed, and published models';
COMMENT ON COLUMN dissected_models.part IS 'Of what kind the dissection is: depth or anatomy';
COMMENT ON COLUMN dissected_models.residual IS 'Its residual design; null for a published model';
COMMENT ON COLUMN dissected_models.setup IS 'As in runs; published for a published model';
COMMENT ON COLUMN dissected_models.label IS 'As in runs; the name of a published model';
COMMENT ON COLUMN dissected_models.full_depth IS 'Whether that is the depth of the recipe; false for a published model';
COMMENT ON COLUMN dissected_models.run IS 'The run, or the published model';
COMMENT ON COLUMN dissected_models.seed IS 'The seed of its initial weights; null for a published model';
COMMENT ON COLUMN dissected_models.representative IS 'The run of the lowest seed of that label';
COMMENT ON COLUMN dissected_models.place IS 'Its place among those that are shown, from 1; published models come last';
