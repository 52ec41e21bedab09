-- What a doubling of depth adds to the final training loss, with the t interval of least squares over the runs.
SELECT claim, scope AS part, 'below' AS side, 0.0 AS threshold, 1.0 AS coefficient, scope AS "group",
    CASE WHEN runs > 0 THEN scope END AS run, CASE WHEN scope = 'size in use' OR widths > 1 THEN by_depth END AS value,
    NULL AS pool, coalesce(by_depth_standard_error, 'infinity') AS standard_error, degrees_of_freedom, 'runs' AS covers
FROM (VALUES ('one_width', 'size in use'), ('beside_width', 'with rungs')) AS claims (claim, scope)
LEFT JOIN depth_regression USING (scope)
