-- Probes leave the backbone as it is: of a seed one run stands for both, the one without readouts where it is
-- dissected. What has been dissected and is no run is a published model, Pre-LN as far as this project can read them.
CREATE VIEW dissected_runs AS
WITH found AS (
    SELECT residual, setup, label, layers, full_depth, seed, run
    FROM recipe_runs
    WHERE present AND standard AND run IN (SELECT run FROM contributions)
    QUALIFY row_number() OVER (PARTITION BY residual, setup, layers, seed ORDER BY readouts, ema, run) = 1
),
published AS (
    SELECT run, max(layer) AS layers FROM contributions WHERE run NOT IN (SELECT run FROM runs) GROUP BY run
)
SELECT residual, setup, layers, full_depth, run, seed,
    first_value(run) OVER (PARTITION BY residual, setup, layers ORDER BY seed) AS lead,
    label,
    dense_rank() OVER (ORDER BY NOT full_depth, layers, design_place(residual), residual,
        list_position(['baseline', 'separate', 'shared', 'shared_stop_gradient'], setup)) AS place
FROM found
UNION ALL
SELECT 'pre_ln', 'published', layers, false, run, 0, run, run, 1000 + row_number() OVER (ORDER BY run)
FROM published;
COMMENT ON VIEW dissected_runs IS 'The runs that have shown how they use their depth, one a seed, without further ways to supervise, and the published models';
COMMENT ON COLUMN dissected_runs.setup IS 'How its layers were supervised: baseline (not at all; probes look on), separate, shared or shared_stop_gradient; published for a published model';
COMMENT ON COLUMN dissected_runs.full_depth IS 'Whether that is the depth of the recipe; false for a published model';
COMMENT ON COLUMN dissected_runs.run IS 'The run, or the published model';
COMMENT ON COLUMN dissected_runs.seed IS 'The seed of its initial weights; 0 for a published model';
COMMENT ON COLUMN dissected_runs.lead IS 'The run of the lowest seed of its design, setup and depth';
COMMENT ON COLUMN dissected_runs.label IS 'What its design, setup and depth are called; the name of a published model';
COMMENT ON COLUMN dissected_runs.place IS 'Their place among those that are shown, from 1; published models follow from 1001 on';
