-- Judged on the baseline. The greatest importance must be ten times the least or more, in percent and also at the near
-- ends of their intervals over documents, in the run of the lowest seed; the greatest importance of the first half of the layers must exceed that of the second by more than the
-- noise of view anatomy_findings. Harm is an interval of that run that lies below 0, and is denied if all lie above. In
-- nats.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'The importance of layers spans decades', '10^7: -0.6 % (L17) to +63,419 % (L11)'),
    (2, 'The most important layer is one of the first half', 'L11 of L0 to L29'),
    (3, 'Some layers do harm', 'L14 and L17, about -0.6 %')
),
layer_of AS (
    SELECT layer, in_nats(degradation) AS mean, in_nats(low) AS low, in_nats(high) AS high
    FROM ablations JOIN anatomy_runs USING (run)
    WHERE way = 'neighbour_average' AND residual = 'sandwich' AND setup = 'baseline' AND full_depth AND run = lead
),
ends AS (
    SELECT greatest, least FROM (SELECT layer_of AS greatest FROM layer_of ORDER BY mean DESC, layer LIMIT 1)
    CROSS JOIN (SELECT layer_of AS least FROM layer_of ORDER BY mean, layer LIMIT 1)
),
halves AS (
    SELECT lead.mean, lead.noise, layer.mean AS layer, layers
    FROM (FROM anatomy_findings WHERE statistic = 'first_half_lead') AS lead
    JOIN (FROM anatomy_findings WHERE statistic = 'most_important_layer') AS layer USING (run, layers)
    WHERE lead.full_depth AND lead.residual = 'sandwich' AND lead.setup = 'baseline'
),
measured AS (
    SELECT 2 AS position, format('layer {:.3g} of {}', layer, layers) AS measured, [mean] AS differences,
        [noise] AS noises
    FROM halves
),
judged AS (
    SELECT 1 AS position, format('{} (layer {}) to {} (layer {})', in_percent(least.mean), least.layer,
        in_percent(greatest.mean), greatest.layer) AS measured,
        CASE WHEN exp(greatest.low) - 1 > 10 * (exp(least.high) - 1) THEN 'yes'
            WHEN exp(greatest.high) - 1 < 10 * (exp(least.low) - 1) THEN 'no' ELSE 'within noise' END AS holds
    FROM ends
    UNION ALL
    SELECT position, measured, judged(differences, noises) FROM measured
    UNION ALL
    SELECT 3, format('least: {} (layer {})', in_percent(min(mean)), arg_min(layer, mean)),
        CASE WHEN min(high) < 0 THEN 'yes' WHEN min(low) > 0 THEN 'no' ELSE 'within noise' END
    FROM layer_of HAVING count(*) > 0
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
