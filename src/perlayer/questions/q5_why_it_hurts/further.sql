-- What separate heads with other weights, schedules or reaches cost the last layer, which no source has a figure of.
SELECT format('{:+.3f} with {}', round(cost, 3) + 0.0, run) FROM supervision
WHERE residual = 'sandwich' AND full_depth AND readouts = 'separate' AND NOT standard
    AND schedule = 'constant' AND cost IS NOT NULL
ORDER BY cost, run
