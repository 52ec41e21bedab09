-- The pairs of models that are mapped, or are to be.
SELECT pair AS run, pair IN (SELECT pair FROM linear_maps) AS present FROM pairs ORDER BY run
