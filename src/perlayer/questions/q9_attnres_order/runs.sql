-- The runs of the question: of each design and seed the plain model whose layers lenses have read, with probes where it
-- has them.
SELECT run, residual, readouts, seed, layers, run IN (SELECT run FROM lenses) AS present
FROM recipe_runs
WHERE full_depth AND plain
QUALIFY row_number() OVER (
    PARTITION BY residual, seed ORDER BY run IN (SELECT run FROM lenses) DESC, readouts = 'none', ema, run
) = 1
ORDER BY design_place(residual), residual, seed
