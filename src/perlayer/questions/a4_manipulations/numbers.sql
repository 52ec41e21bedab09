-- By how many percent perplexity rises when the weights of an unimportant layer go part of the way to others, in the run
-- of the lowest seed of each setup: a tenth, half or all of it, with the interval over documents of the last.
SELECT label AS setup, layer, kind, max(degradation) FILTER (abs(strength - 0.1) < 1e-9) AS a_tenth,
    max(degradation) FILTER (strength = 0.5) AS half, max(degradation) FILTER (strength = 1) AS all_the_way,
    max(low) FILTER (strength = 1) AS low, max(high) FILTER (strength = 1) AS high
FROM manipulations JOIN anatomy_runs USING (run)
WHERE run = representative
GROUP BY label, place, layer, kind
ORDER BY place, layer, list_position(manipulation_kinds(), kind), kind
