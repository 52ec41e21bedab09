-- Growth training of the recipe's design and depth must end below uniform training, by validation loss, nats per token; at
-- equal steps it must cost less compute, which is exact.
WITH
budgets (claim, budget) AS (
    VALUES ('equal_steps', 'equal steps'), ('equal_compute', 'equal compute'), ('half_the_budget', 'half the budget')
),
effects AS (
    SELECT claim, coalesce("group", 'growth') AS part, "group", uniform_group, compute / uniform_compute - 1 AS saved
    FROM budgets
    LEFT JOIN (FROM growth_effects WHERE residual = 'sandwich' AND full_depth) AS effects USING (budget)
)
SELECT claim, part, 'below' AS side, 0.0 AS threshold, coefficient, sides."group", run, val_loss AS value,
    format('validation loss of the last layer, {}', size) AS pool, NULL AS low, NULL AS high, NULL AS covers
FROM effects
CROSS JOIN LATERAL (SELECT unnest([1.0, -1.0]) AS coefficient, unnest([effects."group", uniform_group]) AS "group") AS sides
LEFT JOIN growth_runs AS runs ON runs."group" = sides."group"
UNION ALL
SELECT 'cheaper', part, 'below', 0.0, 1.0, "group", "group", saved, NULL, saved, saved, 'nothing'
FROM effects WHERE claim = 'equal_steps'
