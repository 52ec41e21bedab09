-- The runs of the question: growth training, and the uniform training beside it; without any, the baseline.
SELECT run, coalesce(growth, 'uniform') AS training, seed, layers, steps, present
FROM recipe_runs
WHERE changes IN ('growth', 'growth, steps', 'steps') OR residual = 'sandwich' AND full_depth AND plain
    AND run IN (
        SELECT run FROM growth_runs WHERE "group" IN (SELECT uniform_group FROM growth_effects)
        UNION ALL SELECT backbone FROM recipe_runs WHERE NOT EXISTS (FROM growth_effects)
    )
ORDER BY plain DESC, run
