-- Each published claim about the contribution of every layer. Differences are nats per token.
--
-- What counts as noise: the last layer is compared in pairs of one seed, so from three pairs on it is 3 standard errors.
-- Elsewhere it is the greatest spread among runs that differ in nothing but seed or EMA: that of the last layer of the
-- baseline, and that of the layer itself within its own setup. Where several layers must agree, one that disagrees by
-- more than the noise denies the claim, and one that agrees by less leaves it within noise. Without seeds the noise is not
-- known (null), and nothing is beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Ordinary models: every further layer lowers the loss', '3.971 3.543 3.417 3.343 3.294 3.260'),
    (2, 'Probes: the first half of the layers ends above ordinary models of the same depth',
        '+1.100 +0.799 (layers 2, 3)'),
    (3, 'Probes: the gap closes only at the last layer', '+0.209 -0.003 (layers 5, 6)'),
    (4, 'Separate heads: every layer ends above an ordinary model of its depth', '+0.07 to +0.17 (layers 1 to 6)'),
    (5, 'Separate heads: the gap is smallest in the middle layers', 'middle layers'),
    (6, 'Separate heads: the last layer ends above an ordinary model two layers shallower',
        'above the model of 4 layers'),
    (7, 'Shared head: every layer ends above an ordinary model of its depth',
        '+0.126 +0.088 +0.093 +0.112 +0.132 (layers 2 to 6)'),
    (8, 'Separate heads: the last layer ends above the baseline', '+0.094 (steps 2000 to 4960)'),
    (9, 'Shared head: the last layer ends above the baseline', '+0.114 (steps 2000 to 4960), +0.132 at the end'),
    (10, 'Shared head with stop-gradient: the last layer ends above the baseline', '+0.128 (steps 2000 to 4960)'),
    (11, 'The last layer costs least with separate heads, more with a shared head, most with stop-gradient',
        '+0.094 < +0.114 < +0.128')
),
floor AS (SELECT max(spread) AS floor FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'),
setups AS (
    SELECT run, member, seed, readouts AS setup, layers AS last
    FROM groups
    WHERE residual = 'sandwich' AND full_depth AND standard AND readouts <> 'none'
),
costs AS (
    SELECT setup, difference, standard_error, seeds,
        CASE WHEN seeds >= 3 THEN 3 * standard_error ELSE floor END AS noise
    FROM paired JOIN (SELECT DISTINCT run, setup, last FROM setups) USING (run) CROSS JOIN floor
    WHERE layer = last
),
gaps AS (
    SELECT setup, layer, last,
        CASE WHEN layer = last THEN coalesce(costs.difference, gap) ELSE gap END AS gap,
        CASE WHEN layer = last AND costs.noise IS NOT NULL THEN costs.noise
            ELSE greatest(floor, spread) END AS noise
    FROM gap
    JOIN (SELECT DISTINCT run, setup, last FROM setups) USING (run)
    LEFT JOIN seed_spread USING (run, layer, readout)
    LEFT JOIN costs USING (setup)
    CROSS JOIN floor
),
steps_of_depth AS (
    SELECT layers, loss, lag(loss) OVER (ORDER BY layers) - loss AS gain, floor AS noise
    FROM ordinary CROSS JOIN floor
    WHERE residual = 'sandwich' AND layers <= (SELECT max(layers) FROM recipe_runs WHERE full_depth)
),
middle AS (
    SELECT min(gap) FILTER (layer > 1 AND layer < last) AS inside, min(gap) FILTER (layer = 1) AS first_gap,
        min(gap) FILTER (layer = last) AS last_gap, arg_min(layer, gap) AS lowest,
        CASE WHEN count(noise) = count(*) THEN max(noise) END AS noise
    FROM gaps
    WHERE setup = 'separate'
),
shallower AS (
    SELECT final_loss.loss - ordinary.loss AS difference, greatest(floor, spread) AS noise, ordinary.layers
    FROM (SELECT DISTINCT run, last FROM setups WHERE setup = 'separate')
    JOIN final_loss USING (run)
    JOIN ordinary ON ordinary.residual = 'sandwich' AND ordinary.layers = last - 2
    LEFT JOIN seed_spread USING (run, layer, readout)
    CROSS JOIN floor
    WHERE layer = last
),
last_losses AS (
    SELECT setup, seed, min(loss) AS loss
    FROM setups JOIN final_loss ON final_loss.run = member AND layer = last
    GROUP BY setup, seed
),
orders AS (
    SELECT avg(more.loss - less.loss) AS difference,
        CASE WHEN count(*) >= 3 THEN 3 * stddev_samp(more.loss - less.loss) / sqrt(count(*))
            ELSE any_value(floor) END AS noise
    FROM last_losses AS less JOIN last_losses AS more USING (seed) CROSS JOIN floor
    WHERE (less.setup, more.setup) IN (('separate', 'shared'), ('shared', 'shared_stop_gradient'))
    GROUP BY less.setup
),
measured (position, measured, layers, differences, noises) AS (
    SELECT 1, string_agg(format('{:.3f}', loss), ' ' ORDER BY layers), list(layers ORDER BY layers),
        list(gain ORDER BY layers) FILTER (gain IS NOT NULL), list(noise ORDER BY layers) FILTER (gain IS NOT NULL)
    FROM steps_of_depth HAVING count(gain) > 0
    UNION ALL
    SELECT CASE setup WHEN 'probes' THEN 2 WHEN 'separate' THEN 4 ELSE 7 END,
        string_agg(signed(gap), ' ' ORDER BY layer), list(layer ORDER BY layer),
        list(gap ORDER BY layer), list(noise ORDER BY layer)
    FROM gaps
    WHERE (setup = 'probes' AND layer <= last / 2) OR setup IN ('separate', 'shared')
    GROUP BY setup
    UNION ALL
    SELECT 5, format('smallest at layer {}', lowest), NULL,
        [least(first_gap, last_gap) - inside], [noise]
    FROM middle WHERE inside IS NOT NULL AND first_gap IS NOT NULL AND last_gap IS NOT NULL
    UNION ALL
    SELECT 6, format('{:+.3f} against the model of {} layers', round(difference, 3) + 0.0, layers), NULL,
        [difference], [noise]
    FROM shallower
    UNION ALL
    SELECT CASE setup WHEN 'separate' THEN 8 WHEN 'shared' THEN 9 ELSE 10 END,
        signed(difference)
            || CASE WHEN seeds = 1 THEN ' (1 seed)'
                ELSE format(' ± {:.3f} ({} seeds)', standard_error, seeds) END,
        NULL, [difference], [noise]
    FROM costs WHERE setup IN ('separate', 'shared', 'shared_stop_gradient')
    UNION ALL
    SELECT 11,
        (SELECT string_agg(signed(difference), ', ' ORDER BY setup) FROM costs
            WHERE setup <> 'probes') || ' (separate, shared, stop-gradient)',
        NULL, list(difference), list(noise)
    FROM orders HAVING count(*) = 2
),
judged AS (
    SELECT position, measured, layers,
        judged(differences, noises) AS holds
    FROM measured
    UNION ALL
    -- Two parts: the layer before the last is still behind, and the last is not.
    SELECT 3,
        string_agg(signed(gap), ' ' ORDER BY layer), list(layer ORDER BY layer),
        CASE WHEN bool_or(layer = last AND abs(gap) > noise) OR bool_or(layer < last AND gap < -noise) THEN 'no'
            WHEN bool_or(layer < last AND gap > noise) AND bool_and(noise IS NOT NULL) THEN 'yes'
            ELSE 'within noise' END
    FROM gaps WHERE setup = 'probes' AND layer >= last - 1 HAVING count(*) = 2
)
SELECT position, quantity, published,
    measured || of_layers(layers) AS measured,
    coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
