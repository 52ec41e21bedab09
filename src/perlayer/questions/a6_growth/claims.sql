-- Growth training must end below uniform training, in every way that has been run with the recipe's design and depth, by
-- more than the noise of view growth_effects; at equal steps it must cost less compute.
WITH
published (position, budget, quantity, published) AS (VALUES
    (1, 'equal steps', 'Growth ends below uniform training at equal steps', '4.7 times lower loss (0.127 and 0.599)'),
    (2, 'equal compute', 'It does at equal compute', 'no figure'),
    (3, 'half the budget', 'It does with about half the budget', '2.1 times lower loss (416 of 656 steps)'),
    (4, 'equal steps', 'It costs less at equal steps', '13 % faster; about 54 % less (how is not said)')
),
ways AS (
    SELECT budget, string_agg(format('{} nats ({} to {:.3f}; {})', signed(mean_difference),
            format('{:.3f}', baseline_loss), val_loss, way), ', ' ORDER BY way, steps, baseline_steps) AS said,
        string_agg(format('{:.0f} % of the compute ({})', 100 * compute / baseline_compute, way), ', '
            ORDER BY way, steps, baseline_steps) AS cost,
        judged(list(-mean_difference ORDER BY way, steps, baseline_steps),
            list(noise ORDER BY way, steps, baseline_steps)) AS below,
        judged(list(baseline_compute - compute ORDER BY way, steps, baseline_steps), list(0.0)) AS cheaper
    FROM growth_effects WHERE residual = 'sandwich' AND full_depth GROUP BY budget
)
SELECT position, quantity, published, CASE position WHEN 4 THEN cost ELSE said END AS measured,
    coalesce(CASE position WHEN 4 THEN cheaper ELSE below END, 'no run') AS holds
FROM published LEFT JOIN ways USING (budget)
ORDER BY position
