-- Final training loss of the last layer by depth, nats per token: of the plain model and of that with separate heads of
-- the lowest seed; their mean difference in pairs of one seed; what counts as noise in it.
SELECT layers AS depth, ordinary.loss AS plain, supervision.loss AS separate, difference, standard_error, seeds AS pairs,
    noise
FROM supervision LEFT JOIN ordinary USING (residual, layers)
WHERE residual = 'sandwich' AND readouts = 'separate' AND standard
ORDER BY layers
