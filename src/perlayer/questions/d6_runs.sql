-- The pairs of models that have been mapped.
SELECT DISTINCT pair AS run, true AS present FROM linear_maps ORDER BY run
