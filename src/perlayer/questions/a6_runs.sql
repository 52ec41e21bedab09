-- The runs of the question: growth training, and the uniform training beside it; without any, the baseline.
SELECT run, section, seed, layers, steps, present
FROM runs
WHERE section = 'growth' OR run IN (SELECT unnest([run, baseline]) FROM growth_pairs)
    OR residual = 'sandwich' AND full_depth AND section = 'runs' AND readouts IN ('none', 'probes') AND algorithms = '{}'
QUALIFY section = 'growth' OR run IN (SELECT unnest([run, baseline]) FROM growth_pairs)
    OR (SELECT count(*) FROM growth_pairs) = 0
        AND row_number() OVER (PARTITION BY section ORDER BY present DESC, seed, readouts, ema, run) = 1
ORDER BY section DESC, run
