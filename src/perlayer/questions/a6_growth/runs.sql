-- The runs of the question: growth training, and the uniform training beside it; without any, the baseline.
WITH named AS (
    SELECT *, changes IN ('growth', 'growth, steps', 'steps') OR run IN (SELECT unnest([run, baseline]) FROM growth_pairs)
        AS compared
    FROM recipe_runs
)
SELECT run, coalesce(growth, 'uniform') AS training, seed, layers, steps, present
FROM named
WHERE compared OR residual = 'sandwich' AND full_depth AND plain
QUALIFY compared OR (SELECT count(*) FROM growth_pairs) = 0
    AND row_number() OVER (PARTITION BY compared ORDER BY present DESC, seed, readouts, ema, run) = 1
ORDER BY plain DESC, run
