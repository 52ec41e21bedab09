-- One row a layer of the run of the lowest seed of each setup. importance: by how many percent perplexity rises when its
-- weights become the mean of its neighbours'; perturbation: when noise is added to them; updates: until perplexity is back
-- when the layer alone is trained; remaining: what is left at their end.
SELECT label AS setup, layer, degradation AS importance, perturbation, steps AS updates, recovered, remaining
FROM recoveries JOIN anatomy_runs USING (run)
LEFT JOIN (SELECT run, layer, degradation FROM ablations WHERE way = 'neighbour_average') USING (run, layer)
WHERE run = representative
ORDER BY place, layer
