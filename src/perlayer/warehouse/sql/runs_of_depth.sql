-- The runs that D1 to D5 read: those that are dissected, and of the baseline, separate and shared heads and
-- every plain residual design one that is to be.
CREATE VIEW runs_of_depth AS
SELECT run, residual, setup, seed, layers, present
FROM (
    SELECT * EXCLUDE (present), run IN (SELECT run FROM dissected_runs) AS present
    FROM recipe_runs WHERE full_depth AND standard
)
WHERE present OR setup = 'baseline' OR residual = 'sandwich' AND setup IN ('separate', 'shared')
QUALIFY present OR row_number() OVER (PARTITION BY residual, setup ORDER BY present DESC, seed, readouts, ema, run) = 1
ORDER BY design_place(residual), residual, list_position(['baseline', 'separate', 'shared'], setup), seed, run;
COMMENT ON VIEW runs_of_depth IS 'The runs that the questions of depth read, whether they are dissected or are to be';
COMMENT ON COLUMN runs_of_depth.setup IS 'How its layers are read; baseline when they are not, or by probes';
