-- The runs that A1 to A5 read: those that are dissected, and of the baseline and separate heads one that is to be.
CREATE VIEW runs_of_anatomy AS
SELECT run, setup, seed, layers, present
FROM (
    SELECT run, setup, readouts, seed, layers, ema, run IN (SELECT run FROM anatomy_runs) AS present, true AS asked
    FROM recipe_runs
    WHERE residual = 'sandwich' AND full_depth AND standard AND readouts IN ('none', 'probes', 'separate')
    UNION ALL
    SELECT run, setup, NULL, seed, layers, false, true, false FROM anatomy_runs
    WHERE run NOT IN (
        SELECT run FROM recipe_runs
        WHERE residual = 'sandwich' AND full_depth AND standard AND readouts IN ('none', 'probes', 'separate')
    )
)
QUALIFY present OR row_number() OVER (PARTITION BY setup, asked ORDER BY present DESC, seed, readouts, ema, run) = 1
ORDER BY list_position(['baseline', 'separate'], setup) NULLS LAST, setup, seed, run;
COMMENT ON VIEW runs_of_anatomy IS 'The runs that the questions of anatomy read, whether they are dissected or are to be';
COMMENT ON COLUMN runs_of_anatomy.setup IS 'How its layers are read; baseline when they are not, or by probes';
