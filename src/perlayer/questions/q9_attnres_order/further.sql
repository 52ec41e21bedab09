-- How the head of AttnRes models spreads its attention over depth.
SELECT format('in {} over {} sources, the last of which weighs {:.0f} %', design_name(residual),
    count(source_weight), 100 * arg_max(source_weight, other_layer))
FROM routing JOIN recipe_runs USING (run)
WHERE sublayer = 'head' AND starts_with(residual, 'attnres') AND full_depth AND plain AND run = seed_group
GROUP BY run, residual ORDER BY design_place(residual), run
