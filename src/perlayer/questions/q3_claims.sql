-- The question is published as still being tested, without a figure. Each row is a form of it that runs can be held
-- against: that designs end further apart than seeds of one design do.
--
-- How far apart is the standard deviation over designs, each by its run of the lowest seed. What counts as noise is three
-- standard deviations of one run over seeds, pooled over the designs that have several (two degrees of freedom at least,
-- else nothing is beyond the noise). Did designs differ by their seeds alone, the quotient of both variances would follow
-- the F distribution: with ten designs and four seeds of one of them it passes 9 in 5 of 100 cases. In what separate
-- heads cost, a pair of one seed takes the place of a run, and a design's mean over its pairs that of its run. Where
-- several layers must agree, one at which designs end no further apart than that leaves the claim within noise; no such
-- claim can be denied. It takes two designs to judge.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Plain models of different designs end further apart at the last layer than seeds do', 'testing, no figure'),
    (2, 'So do their probes, after every layer below the last', 'testing, no figure'),
    (3, 'So do models with separate heads, after every layer below the last', 'testing, no figure'),
    (4, 'What separate heads cost the last layer differs between designs more than between seeds', 'testing, no figure')
),
apart AS (
    SELECT readouts, layer, layer = any_value(layers) AS last, stddev_samp(loss) AS std, any_value(seed_std) AS seed_std,
        count(*) AS designs
    FROM design_layers GROUP BY readouts, layer HAVING count(*) > 1
),
costs AS (
    SELECT stddev_samp(cost) AS std, any_value(pair_std) AS seed_std, count(*) AS designs
    FROM design_costs HAVING count(*) > 1
),
measured (position, measured, layers, differences, noises) AS (
    SELECT CASE WHEN last THEN 1 WHEN readouts = 'probes' THEN 2 ELSE 3 END,
        format('{} designs: ', max(designs)) || string_agg(format('{:.3f}', std), ' ' ORDER BY layer)
            || coalesce(' against ' || string_agg(format('{:.3f}', seed_std), ' ' ORDER BY layer), ''),
        CASE WHEN NOT last THEN list(layer ORDER BY layer) END,
        list(std ORDER BY layer), list(coalesce(3 * seed_std, 'infinity') ORDER BY layer)
    FROM apart WHERE NOT (last AND readouts = 'separate') GROUP BY last, readouts
    UNION ALL
    SELECT 4,
        format('{} designs: {:.3f}', designs, std) || coalesce(format(' against {:.3f}', seed_std), ''),
        NULL, [std], [coalesce(3 * seed_std, 'infinity')]
    FROM costs
),
judged AS (
    SELECT position, measured || of_layers(layers) AS measured, judged(differences, noises) AS holds FROM measured
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
