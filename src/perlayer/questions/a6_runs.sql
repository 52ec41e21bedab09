-- The runs of the question: growth training, and uniform training of the same seeds.
SELECT run, section, seed, layers, steps, present
FROM runs
WHERE residual = 'sandwich' AND full_depth AND section IN ('runs', 'growth')
    AND (section = 'growth' OR readouts IN ('none', 'probes') AND algorithms = '{}'
        AND (run IN (SELECT run FROM growth_runs) OR NOT present AND readouts = 'none'))
ORDER BY section DESC, run
