-- The runs of the question: the baseline and every supervision of its layers, each by its run of the lowest seed that
-- is here, or that which is not.
SELECT run, readouts, seed, layers, present
FROM recipe_runs
WHERE residual = 'sandwich' AND full_depth
    AND (plain OR weighting IS NOT NULL)
QUALIFY row_number() OVER (
    PARTITION BY CASE WHEN readouts IN ('none', 'probes') THEN 'plain' ELSE seed_group END
    ORDER BY present DESC, seed, readouts, ema, run
) = 1
ORDER BY readouts <> 'none', run
