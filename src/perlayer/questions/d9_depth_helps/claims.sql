-- Judged by the regression of view depth_regression: what counts as noise is three standard errors of its coefficient.
WITH
published (position, scope, quantity, published) AS (VALUES
    (1, 'size in use', 'Depth helps at one width', 'yes, p < 0.0001 (132 open models, beside widths)'),
    (2, 'with rungs', 'Depth helps beside width', 'yes, p < 0.0001 (132 open models)')
)
SELECT position, quantity, published,
    CASE WHEN by_depth IS NOT NULL AND (position = 1 OR by_width IS NOT NULL) THEN
        signed(by_depth) || coalesce(format(' ± {:.3f}', by_depth_standard_error), '')
            || format(' a doubling ({} runs of {} depths', runs, depths)
            || CASE WHEN widths > 1 THEN format(' and {} widths)', widths) ELSE ')' END
    END AS measured,
    CASE WHEN by_depth IS NOT NULL AND (position = 1 OR by_width IS NOT NULL)
        THEN judged([-by_depth], [3 * by_depth_standard_error]) ELSE 'no run' END AS holds
FROM published LEFT JOIN depth_regression USING (scope)
ORDER BY position
