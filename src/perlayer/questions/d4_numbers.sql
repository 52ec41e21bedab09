-- How far predictions move when the residual of one token after a layer is replaced by its mean: over the tokens of
-- some held-out texts.
SELECT label AS setup, layer, max(value) FILTER (stat = 'mean') AS mean, max(value) FILTER (stat = 'max') AS greatest
FROM dissections JOIN dissected_runs USING (run)
WHERE analysis = 'erasure' AND metric = 'erasure' AND stat IN ('mean', 'max') AND sublayer IS NULL AND run = lead
GROUP BY label, place, layer ORDER BY place, layer
