-- Probes leave the backbone as it is: of those of a seed that have been dissected one run stands for both. A run with
-- further keys that change its training stands for itself. A published model has no row in runs.
CREATE VIEW anatomy_runs AS
WITH found_runs AS (
    SELECT run, max(layer) AS layers FROM ablations GROUP BY run
),
ours AS (
    SELECT residual, CASE WHEN NOT standard THEN 'run ' || run WHEN readouts IN ('none', 'probes') THEN 'baseline'
        ELSE readouts END AS setup, recipe_runs.layers, full_depth, seed, run
    FROM recipe_runs JOIN found_runs USING (run)
    QUALIFY row_number() OVER (
        PARTITION BY residual, setup, recipe_runs.layers, seed ORDER BY readouts, ema, length(run), run
    ) = 1
),
found AS (
    SELECT residual, setup, layers, full_depth, run, seed,
        first_value(run) OVER (PARTITION BY residual, setup, layers ORDER BY seed) AS lead,
        CASE WHEN starts_with(setup, 'run ') THEN setup ELSE setup_label(residual, setup, layers, full_depth) END
            AS label
    FROM ours
    UNION ALL
    SELECT NULL, 'published', layers, false, run, NULL, run, run
    FROM found_runs WHERE run NOT IN (SELECT run FROM runs)
)
SELECT *,
    dense_rank() OVER (ORDER BY setup = 'published', NOT full_depth, layers, design_place(residual), residual,
        list_position(['baseline', 'separate', 'shared', 'shared_stop_gradient'], setup), label) AS place
FROM found;
COMMENT ON VIEW anatomy_runs IS 'The models that anatomy has dissected: runs, one a seed, and published models';
COMMENT ON COLUMN anatomy_runs.residual IS 'Its residual design; null for a published model';
COMMENT ON COLUMN anatomy_runs.setup IS 'How its layers were supervised: baseline (not at all; probes look on), separate, shared or shared_stop_gradient; run RUN with further keys of its own; published for a published model';
COMMENT ON COLUMN anatomy_runs.run IS 'The run, or the published model';
COMMENT ON COLUMN anatomy_runs.seed IS 'The seed of its initial weights; null for a published model';
COMMENT ON COLUMN anatomy_runs.lead IS 'The run of the lowest seed of its design, setup and depth';
COMMENT ON COLUMN anatomy_runs.label IS 'What its design, setup and depth are called';
COMMENT ON COLUMN anatomy_runs.place IS 'Their place among those that are shown, from 1';
