-- The question is published as still being tested, without a figure. Related work claims that models up to about 1B do
-- not gain in multi-token prediction and that larger ones gain the more (Gloeckle et al. 2024, on code, by benchmarks):
-- here, that the last layer does not end below the plain model's at any size, and that the largest size here gains more
-- than the smallest.
--
-- What counts as noise is in view multi_token_sizes: three standard errors over pairs of one seed, and for fewer than
-- three pairs never less than the spread of plain runs; sizes share no run, so the noise of the difference of two is the
-- root of the sum of both squares. Without any noise nothing is beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'No size gains: the last layer ends above the plain model''s, not below',
        'models up to about 1B do not gain (Gloeckle 2024)'),
    (2, 'Larger sizes gain more: the largest size''s difference minus the smallest''s is below 0',
        'larger models gain more (Gloeckle 2024); testing, no figure')
),
sizes AS (
    SELECT size, difference, coalesce(noise, 'infinity') AS noise, backbone_parameters
    FROM multi_token_sizes WHERE residual = 'sandwich' AND way = deepseek_v3()
),
measured (position, measured, differences, noises) AS (
    SELECT 1, string_agg(format('{} {}', signed(difference), size), ', ' ORDER BY backbone_parameters, size),
        list(difference ORDER BY backbone_parameters, size), list(noise ORDER BY backbone_parameters, size)
    FROM sizes HAVING count(*) > 0
    UNION ALL
    SELECT 2, format('{} ({} minus {})', signed(large.difference - small.difference), large.size, small.size),
        [small.difference - large.difference], [sqrt(large.noise ** 2 + small.noise ** 2)]
    FROM (FROM sizes ORDER BY backbone_parameters, size LIMIT 1) AS small
    JOIN (FROM sizes ORDER BY backbone_parameters DESC, size DESC LIMIT 1) AS large
        ON large.backbone_parameters > small.backbone_parameters
),
judged AS (SELECT position, measured, judged(differences, noises) AS holds FROM measured)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
