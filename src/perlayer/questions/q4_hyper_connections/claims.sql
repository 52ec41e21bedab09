-- That Hyper-Connections pays about half is published as still being tested. Sign and order are judged, not the half:
-- that it pays less than the baseline, which must pay at all, and that it does pay.
--
-- What counts as noise is in the views: of a cost, three standard errors over pairs of one seed, and for fewer than three
-- pairs never less than the spread of plain runs, the design's own or that of the sandwich design; of the difference of
-- two costs, which share no run, the root of the sum of both squares. Without any noise nothing is beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Hyper-Connections: separate heads cost the last layer less than they cost the baseline''s',
        'about half; testing, no figure'),
    (2, 'Hyper-Connections: the last layer pays for separate heads', 'about half of what the baseline pays; testing')
),
pays AS (
    SELECT mine.*, sandwich.cost AS baseline_cost, coalesce(sandwich.noise, 'infinity') AS baseline_noise
    FROM design_costs AS mine LEFT JOIN design_costs AS sandwich ON sandwich.residual = 'sandwich'
    WHERE mine.residual = 'hyper_connections'
),
measured (position, measured, differences, noises) AS (
    SELECT 1,
        signed(cost) || ' against ' || signed(baseline_cost)
            || coalesce(format(', {:.0f} % ± {:.0f} %', 100 * fraction, 100 * fraction_noise), ''),
        [less, baseline_cost], [coalesce(less_noise, 'infinity'), baseline_noise]
    FROM pays WHERE less IS NOT NULL
    UNION ALL
    SELECT 2, signed(cost), [cost], [coalesce(noise, 'infinity')] FROM pays
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
