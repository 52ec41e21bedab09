-- Each published claim about retrained readouts. All losses are held out, differences are nats per token.
--
-- What counts as noise is the greatest spread of held-out losses among runs that differ in nothing but seed or EMA: that
-- of the last layer of plain runs, and that of the layer itself within its own setup, or within either setup where both
-- are compared (view retrained_gap). It is wider than the standard error over held-out sequences, which says how well
-- one run's change is known, but not what another seed would do. Where several layers must agree, one that disagrees by
-- more than the noise denies the claim, and one that agrees by less leaves it within noise. Without seeds the noise is not
-- known (null), and nothing is beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Separate heads: retrained, every layer ends higher than before', 'slightly higher at every layer (300m)'),
    (2, 'Probes: retraining moves every layer below the last by less than its gap to the separate heads',
        'the probes barely move (300m)'),
    (3, 'Both retrained: probes read the first half of the layers worse than separate heads',
        'still far worse (300m)'),
    (4, 'Retraining closes less than half of the gap between probes and separate heads below the last layer',
        'the gap is in the features (300m)')
),
layers AS (FROM retrained_gap WHERE residual = 'sandwich'),
measured (position, measured, layers, differences, noises) AS (
    SELECT 1, string_agg(signed(separate_change), ' ' ORDER BY layer),
        list(layer ORDER BY layer), list(separate_change ORDER BY layer), list(separate_noise ORDER BY layer)
    FROM layers WHERE separate IS NOT NULL HAVING count(*) > 0
    UNION ALL
    SELECT 2, string_agg(signed(probes_change), ' ' ORDER BY layer),
        list(layer ORDER BY layer), list(gap_before - abs(probes_change) ORDER BY layer), list(noise ORDER BY layer)
    FROM layers WHERE NOT last AND gap_before IS NOT NULL HAVING count(*) > 0
    UNION ALL
    SELECT 3, string_agg(signed(gap_after), ' ' ORDER BY layer),
        list(layer ORDER BY layer), list(gap_after ORDER BY layer), list(noise ORDER BY layer)
    FROM layers
    WHERE gap_after IS NOT NULL AND layer <= (SELECT max(layer) FROM layers) / 2 HAVING count(*) > 0
    UNION ALL
    -- The mean over the layers below the last, against the mean of their noise.
    SELECT 4,
        CASE WHEN avg(gap_before) > 0
            THEN format('{:.0f} % of {:.3f} nats', 100 * (1 - avg(gap_after) / avg(gap_before)), avg(gap_before))
            ELSE format('no gap to close: {:.3f} nats', avg(gap_before)) END,
        NULL, [avg(gap_after) - avg(gap_before) / 2], [CASE WHEN count(noise) = count(*) THEN avg(noise) END]
    FROM layers WHERE NOT last AND gap_after IS NOT NULL HAVING count(*) > 0
),
judged AS (
    SELECT position, measured, layers,
        judged(differences, noises) AS holds
    FROM measured
)
SELECT position, quantity, published,
    measured || of_layers(layers) AS measured,
    coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
