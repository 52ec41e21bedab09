-- Each published claim about harder problems, over seeds of the baseline, a part a set of prompts: from the easiest group to
-- the hardest the depth score changes, by a line through all groups, by less than a twentieth of the depth.
WITH growths AS (
    SELECT hops, prompts, backbone AS "group", run, depth_growth.growth, recipe_runs.layers,
        format('depth score on {} of {} layers, {}', prompts, recipe_runs.layers, size) AS pool
    FROM depth_growth
    JOIN (SELECT run FROM dissected_runs WHERE label = 'baseline') USING (run)
    JOIN recipe_runs USING (run)
),
claims (claim, hops) AS (VALUES ('difficulty', false), ('hops', true))
SELECT claim, coalesce(prompts, 'prompts') AS part, 'within' AS side, 0.0 AS threshold, 1.0 AS coefficient, "group", run,
    growth AS value, pool, layers / 20 AS smallest_effect
FROM claims LEFT JOIN growths USING (hops)
