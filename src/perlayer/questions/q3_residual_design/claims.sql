-- The question is published as still being tested, without a figure. Each row is a form of it that runs can be held
-- against: that designs end further apart than seeds of one design do.
--
-- How far apart is the standard deviation over designs, each by its run of the lowest seed. What counts as noise is three
-- standard deviations of one run over seeds, pooled over the designs that have several (two degrees of freedom at least,
-- else nothing is beyond the noise). Did designs differ by their seeds alone, the quotient of both variances would follow
-- the F distribution: it passes 9 in 5 of 100 cases with ten designs and four seeds of one of them, F(9, 3), and in about
-- 10 with three seeds, F(n, 2) with any n, as many as separate heads and what they cost have by default. In that cost a
-- pair of one seed takes the place of a run, and a design's mean over its pairs that of its run. Where several layers must
-- agree, one at which designs end no further apart than that leaves the claim within noise; no such claim can be denied.
-- It takes two designs to judge. Where a claim hangs on one design, that one is named.
WITH
published (position, measure, quantity, published) AS (VALUES
    (1, 'last', 'Plain models of different designs end apart at the last layer, by more than three times what seeds do',
        'testing, no figure'),
    (2, 'probes', 'So do their probes, after every layer below the last', 'testing, no figure'),
    (3, 'separate', 'So do models with separate heads, after every layer below the last', 'testing, no figure'),
    (4, 'cost', 'So does what separate heads cost the last layer, beside pairs of one seed', 'testing, no figure')
),
hangs AS (
    SELECT whole.measure, string_agg(design_name(rest.left_out), ', ' ORDER BY design_place(rest.left_out)) AS designs
    FROM design_spread AS whole JOIN design_spread AS rest USING (measure)
    WHERE whole.left_out IS NULL AND rest.left_out IS NOT NULL AND whole.apart = 'yes' AND rest.apart <> 'yes'
    GROUP BY whole.measure
),
judged AS (
    SELECT measure, apart AS holds,
        format('{} designs: std ', spread.designs) || in_a_row(stds)
            || coalesce(format(' against 3 × {}', in_a_row(seed_stds)), '; noise not known')
            || CASE WHEN measure IN ('probes', 'separate') THEN of_layers(layers) ELSE '' END
            || coalesce('; within noise without ' || hangs.designs, '') AS measured
    FROM design_spread AS spread LEFT JOIN hangs USING (measure)
    WHERE left_out IS NULL
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (measure)
ORDER BY position
