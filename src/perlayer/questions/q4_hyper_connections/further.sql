-- How far the mixing of streams is from carrying them through unchanged.
SELECT format('{:.2f} forwards and {:.2f} backwards in {}', max(forward_gain), max(backward_gain),
    design_name(residual))
FROM routing JOIN recipe_runs USING (run)
WHERE forward_gain IS NOT NULL AND full_depth AND plain AND run = seed_group
GROUP BY residual ORDER BY design_place(residual), residual
