-- Each published claim about importance by the neighbours' average, over text, in the baseline's run of the lowest seed: the
-- logarithm of the greatest rise of perplexity over the least (less than 2 % counts as that) lies above that of 10, of
-- which less than 5 % is none; the resamples choose a layer of the first half as the most important; and the least change
-- of log-perplexity lies below 0.
WITH parts (claim, part, statistic, side, threshold, smallest_effect) AS (VALUES
    ('span', 'greatest over least', 'importance_span', 'above', ln(10), 0.05),
    ('first_half', 'first half', 'most_important_early', 'above', 0.5, 0.0),
    ('harm', 'least important layer', 'least_importance', 'below', 0.0, NULL)
)
SELECT claim, parts.part, side, threshold, 1.0 AS coefficient, run AS "group", run, value, NULL AS pool,
    smallest_effect, low, high, covers
FROM parts LEFT JOIN baseline_estimates USING (statistic)
