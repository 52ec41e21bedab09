-- By how many percent perplexity rises without a layer, in the run of the lowest seed of each setup: its weights replaced
-- by the mean of its neighbours' (with its 95 % interval over documents and what that calls it), the layer, its attention
-- or its MLP giving nothing, and the layer giving its mean.
SELECT label AS setup, layer,
    max(degradation) FILTER (way = 'neighbour_average') AS neighbour_average,
    max(low) FILTER (way = 'neighbour_average') AS low, max(high) FILTER (way = 'neighbour_average') AS high,
    max(category) FILTER (way = 'neighbour_average') AS category,
    max(degradation) FILTER (way = 'skip' AND sublayer IS NULL) AS skipped,
    max(degradation) FILTER (way = 'skip' AND sublayer = 'attention') AS attention_skipped,
    max(degradation) FILTER (way = 'skip' AND sublayer = 'mlp') AS mlp_skipped,
    max(degradation) FILTER (way = 'mean_ablation' AND sublayer IS NULL) AS mean_ablated
FROM ablations JOIN anatomy_runs USING (run)
WHERE run = representative
GROUP BY label, place, layer
ORDER BY place, layer
