-- Each published sign of what supervision does to the last layer. Differences are nats per token, in pairs of one seed.
-- What the four fixes bring was not published: they stand among the numbers and in the verdict.
--
-- What counts as noise is three standard errors from three pairs on, else the spread of plain runs. Claims about
-- gradients are judged by three standard errors over the steps at which they were measured, three at least. Where
-- several runs must agree, one that disagrees by more than the noise denies the claim, and one that agrees by less
-- leaves it within noise. A claim that two runs end level holds only where the cost that is gone was above the noise.
-- Noise that is not known, for lack of seeds, leaves nothing beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Separate heads and shared head: the last layer ends above the baseline',
        '+0.094, +0.114 (steps 2000 to 4960, 130m)'),
    (2, 'Separate heads and shared head: what the last layer pays grows from a fifth of the training to its end',
        '+0.0161 to +0.0339, +0.0226 to +0.0409 bits per byte (steps 1000 to 4959, 130m)'),
    (3, 'Shared head switched off in the first twentieth of the training: the last layer ends level with the baseline',
        '1.1636, 1.1638, 1.1639 against 1.1633 ± 0.0004 bits per byte (off at step 80, at 140, to zero by 150 of 4959)'),
    (4, 'Separate heads and shared head: the summed gradient of the layer losses points the way of the final loss''s',
        'cosine 0.8 to 0.9 throughout (130m)'),
    (5, 'It does so more than, counterfactually, in the baseline', 'cosine 0.8 to 0.9 against about 0.1 (130m)'),
    (6, 'LLAL: the last layer ends below the baseline', '-0.024 (validation loss, 60B mixture of experts)'),
    (7, 'Deeply-Supervised Nets: the last layer ends below the baseline',
        'error 10.41 to 9.78 %, 35.68 to 34.57 % (CIFAR-10 and CIFAR-100)')
),
floor AS (SELECT max(spread) AS floor FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'),
ways_here AS (
    SELECT *, schedule_kind AS kind
    FROM supervision
    WHERE residual = 'sandwich' AND full_depth AND difference IS NOT NULL
),
usual AS (SELECT * FROM ways_here WHERE standard AND readouts IN ('separate', 'shared')),
-- The last layer over training, smoothed over the same steps as in the figures.
last AS (
    SELECT curves.run, setup, lead, seed, step, loss, max(step) OVER (PARTITION BY curves.run) AS steps
    FROM curves JOIN setups ON setups.run = curves.run AND layer = layers
    WHERE residual = 'sandwich' AND readout = 'head'
    QUALIFY dense_rank() OVER (
        PARTITION BY CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END, seed ORDER BY setup, ema, curves.run
    ) = 1
),
windows AS (
    SELECT run, setup, lead, seed,
        avg(loss) FILTER (step <= steps // 5 AND step > steps // 5 - least(50, ceil(steps / 20))) AS early,
        avg(loss) FILTER (step > steps - least(50, ceil(steps / 20))) AS late
    FROM last GROUP BY ALL
),
growth AS (
    SELECT mine.setup, avg(mine.early - plain.early) AS early, avg(mine.late - plain.late) AS late,
        CASE WHEN count(*) >= 3
            THEN 3 * stddev_samp((mine.late - plain.late) - (mine.early - plain.early)) / sqrt(count(*))
            ELSE any_value(floor) END AS noise
    FROM windows AS mine
    JOIN windows AS plain ON plain.seed = mine.seed AND plain.setup IN ('baseline', 'probes')
    CROSS JOIN floor
    WHERE mine.setup IN ('separate', 'shared') AND plain.early IS NOT NULL
    GROUP BY mine.setup
),
switched_off AS (
    SELECT ways_here.* FROM ways_here JOIN (SELECT run, max(step) AS steps FROM curves GROUP BY run) USING (run)
    WHERE ways_here.readouts = 'shared' AND kind IN ('off', 'linear_to_zero') AND weighting = 'uniform 1'
        AND ends <= 0.05 * steps AND reach = 'all below' AND surgery = 'none' AND layer_dropout = 'none' AND other = ''
),
-- Of each setup the run of the lowest seed whose gradients were compared.
compared AS (
    SELECT CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END AS setup, run
    FROM setups
    WHERE residual = 'sandwich' AND run IN (SELECT run FROM gradient_cosines WHERE summed_cosine IS NOT NULL)
    QUALIFY row_number() OVER (
        PARTITION BY CASE WHEN setups.setup = 'probes' THEN 'baseline' ELSE setups.setup END
        ORDER BY seed, ema, setups.setup, run
    ) = 1
),
gradients AS (
    SELECT setup, avg(summed_cosine) AS cosine, min(summed_cosine) AS least, max(summed_cosine) AS greatest,
        CASE WHEN count(*) >= 3 THEN stddev_samp(summed_cosine) / sqrt(count(*)) ELSE 'infinity' END AS error
    FROM compared JOIN gradient_cosines USING (run)
    WHERE backbone_layer IS NULL AND summed_cosine IS NOT NULL
    GROUP BY setup
),
measured (position, measured, differences, noises) AS (
    SELECT 1, string_agg(signed(difference), ', ' ORDER BY readouts)
            || format(' ({})', string_agg(readouts, ', ' ORDER BY readouts)),
        list(difference), list(noise)
    FROM usual HAVING count(*) > 0
    UNION ALL
    SELECT 2, string_agg(signed(early) || ' to ' || signed(late), ', ' ORDER BY setup)
            || format(' ({})', string_agg(setup, ', ' ORDER BY setup)),
        list(late - early), list(noise)
    FROM growth HAVING count(*) > 0
    UNION ALL
    SELECT 4, string_agg(format('{:+.2f}', cosine), ', ' ORDER BY setup)
            || format(' ({}; {:+.2f} to {:+.2f})', string_agg(setup, ', ' ORDER BY setup), min(least), max(greatest)),
        list(cosine), list(3 * error)
    FROM gradients WHERE setup IN ('separate', 'shared') HAVING count(*) > 0
    UNION ALL
    SELECT 5, string_agg(format('{:+.2f}', mine.cosine), ', ' ORDER BY mine.setup)
            || format(' ({}) against {:+.2f}', string_agg(mine.setup, ', ' ORDER BY mine.setup), any_value(plain.cosine)),
        list(mine.cosine - plain.cosine), list(3 * sqrt(mine.error ** 2 + plain.error ** 2))
    FROM gradients AS mine JOIN gradients AS plain ON plain.setup = 'baseline' AND mine.setup IN ('separate', 'shared')
    HAVING count(*) > 0
    UNION ALL
    SELECT CASE kind WHEN 'threshold' THEN 7 ELSE 6 END,
        string_agg(signed(difference), ' ' ORDER BY run), list(-difference), list(noise)
    FROM ways_here
    WHERE reach = 'all below' AND surgery = 'none' AND layer_dropout = 'none' AND other = '' AND (
        readouts = 'separate' AND kind = 'threshold'
        OR readouts = 'shared' AND kind = 'linear_to_zero' AND weighted_layers = 1)
    GROUP BY kind
),
judged AS (
    SELECT position, measured,
        judged(differences, noises) AS holds
    FROM measured
    UNION ALL
    SELECT 3,
        string_agg(signed(difference), ', ' ORDER BY kind DESC, ends, run)
            || format(' ({})', string_agg(schedule, ', ' ORDER BY kind DESC, ends, run)),
        CASE WHEN bool_or(abs(difference) > noise) THEN 'no'
            WHEN bool_and(coalesce(abs(difference) <= noise AND saved > saved_noise, false)) THEN 'yes'
            ELSE 'within noise' END
    FROM switched_off HAVING count(*) > 0
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
