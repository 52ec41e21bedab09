-- Flat: from the easiest group of a set to the hardest the depth score must grow by less than a twentieth of the depth,
-- and by more than noise less than that. Judged on the baseline and on published models, all sets of one kind together;
-- noise is that of view growth_findings.
WITH
published (position, hops, quantity, published) AS (VALUES
    (1, false, 'The depth score does not grow with difficulty', 'flat over levels 1 to 5 of MATH (figure 7)'),
    (2, true, 'It does not grow with the number of hops', 'flat over 2 to 4 hops of MQuAKE (figure 7)')
),
found AS (
    SELECT *, format('{:+.2f} of {} layers from {} to {} ({})', growth, layers, easiest, hardest, label) AS said
    FROM growth_findings
    WHERE setup = 'published' OR full_depth AND residual = 'sandwich' AND setup = 'baseline'
),
measured AS (
    SELECT hops, string_agg(said, '; ' ORDER BY place, prompts) AS measured,
        judged(list(layers / 20 - growth ORDER BY place, prompts), list(noise ORDER BY place, prompts)) AS holds
    FROM found GROUP BY hops
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN measured USING (hops)
ORDER BY position
