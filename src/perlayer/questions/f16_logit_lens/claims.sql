-- Each published claim about lenses on finished models. Differences are nats per token of held-out text.
--
-- What counts as noise: where one model is read in two ways, or at two layers, it is three standard errors over held-out
-- sequences, of both readings as if they were independent, which they are not: the text is the same, so this is more
-- than enough. Where two models are compared, seeds matter: it is the greatest of those three standard errors and of the
-- spreads among runs that differ in nothing but seed or EMA: of the last layer of plain runs, of the separate heads at
-- that layer, and of the baseline's lens at that layer. Where several layers must agree, one that disagrees by more than
-- the noise denies the claim, and one that agrees by less leaves it within noise. Noise that is not known, for lack of seeds
-- or standard errors, leaves nothing beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'Baseline: the loss of its logit lens falls with every layer', '9.329 8.784 7.898 7.406 5.351 4.182 (130m)'),
    (2, 'Below the last layer the baseline''s logit lens lies above the separate heads of the run trained with them',
        '+3.688 +4.034 +3.461 +3.026 +0.991 (layers 1 to 5, 130m)'),
    (3, 'Baseline: more than half of the fall of its logit lens lies in the last two layers',
        '63 % of 5.147 nats (130m)'),
    (4, 'Below the last layer the tuned lens lies closer to the final output than the logit lens, KL(final || lens)',
        'at every layer (Belrose 2023)')
),
plain AS (
    SELECT run, seed, ema, setup, layers AS last
    FROM setups WHERE residual = 'sandwich' AND setup IN ('baseline', 'probes')
),
-- Probes leave the backbone as it is: they stand for the baseline where no lens has read it.
baseline AS (
    SELECT run, last
    FROM plain WHERE run IN (SELECT run FROM lenses WHERE readout = 'logit_lens')
    QUALIFY row_number() OVER (ORDER BY seed, ema, setup, run) = 1
),
lens AS (
    SELECT layer, last, loss, loss_standard_error AS error
    FROM lenses JOIN baseline USING (run)
    WHERE readout = 'logit_lens' AND layer > 0
),
steps AS (
    SELECT layer, loss, loss - lead(loss) OVER (ORDER BY layer) AS fall,
        3 * sqrt(error ** 2 + lead(error) OVER (ORDER BY layer) ** 2) AS noise
    FROM lens
),
lens_spread AS (
    SELECT layer, CASE WHEN count(DISTINCT seed) > 1 THEN max(loss) - min(loss) END AS spread
    FROM lenses JOIN plain USING (run) WHERE readout = 'logit_lens' GROUP BY layer
),
floor AS (
    SELECT max(spread) AS floor
    FROM held_out_spread JOIN plain USING (run) WHERE layer = last
),
heads AS (
    SELECT lens.layer, lens.loss - held_out.loss AS difference,
        CASE WHEN coalesce(floor, spreads.spread, lens_spread.spread) + error IS NOT NULL
            THEN greatest(floor, spreads.spread, lens_spread.spread, 3 * error) END AS noise
    FROM setups
    JOIN held_out USING (run)
    JOIN lens USING (layer)
    LEFT JOIN lens_spread USING (layer)
    LEFT JOIN held_out_spread AS spreads
        ON spreads.run = lead AND spreads.layer = lens.layer AND spreads.readout = held_out.readout
    CROSS JOIN floor
    WHERE residual = 'sandwich' AND setup = 'separate' AND setups.run = lead AND lens.layer < last
),
-- The last two of more than three layers: what layer L - 2 still lacks of the fall from layer 1 to layer L, which must
-- be a fall.
ends AS (
    SELECT max(loss) FILTER (layer = 1) AS first_loss, max(loss) FILTER (layer = last - 2) AS before,
        max(loss) FILTER (layer = last) AS last_loss,
        CASE WHEN count(error) = 3
            THEN 3 * sqrt(sum(error ** 2 * CASE WHEN layer = last - 2 THEN 1 ELSE 0.25 END)) END AS noise,
        CASE WHEN count(error) = 3 THEN 3 * sqrt(sum(error ** 2) FILTER (layer IN (1, last))) END AS noise_of_fall
    FROM lens WHERE last > 3 AND layer IN (1, last - 2, last)
),
pairs AS (
    SELECT run, layer, logit.kl_final_lens - tuned.kl_final_lens AS difference,
        3 * sqrt(logit.kl_final_lens_standard_error ** 2 + tuned.kl_final_lens_standard_error ** 2) AS noise
    FROM (SELECT *, max(layer) OVER (PARTITION BY run) AS last FROM lenses WHERE readout = 'logit_lens') AS logit
    JOIN (SELECT * FROM lenses WHERE readout = 'tuned_lens') AS tuned USING (run, layer)
    WHERE layer < last
),
measured (position, measured, layers, differences, noises) AS (
    SELECT 1, string_agg(format('{:.3f}', loss), ' ' ORDER BY layer), list(layer ORDER BY layer),
        list(fall ORDER BY layer) FILTER (fall IS NOT NULL), list(noise ORDER BY layer) FILTER (fall IS NOT NULL)
    FROM steps HAVING count(fall) > 0
    UNION ALL
    SELECT 2, string_agg(signed(difference), ' ' ORDER BY layer),
        list(layer ORDER BY layer), list(difference ORDER BY layer), list(noise ORDER BY layer)
    FROM heads HAVING count(*) > 0
    UNION ALL
    SELECT 3,
        CASE WHEN first_loss > last_loss
            THEN format('{:.0f} % of {:.3f} nats', 100 * (before - last_loss) / (first_loss - last_loss),
                first_loss - last_loss)
            ELSE 'it does not fall' END,
        NULL, [before - last_loss - (first_loss - last_loss) / 2, first_loss - last_loss], [noise, noise_of_fall]
    FROM ends WHERE before IS NOT NULL AND first_loss IS NOT NULL AND last_loss IS NOT NULL
    UNION ALL
    SELECT 4,
        format('at {} of {} layers of {} model{}', count(*) FILTER (difference > 0), count(*), count(DISTINCT run),
                CASE WHEN count(DISTINCT run) > 1 THEN 's' ELSE '' END)
            || coalesce('; farther: ' || string_agg(
                format('{} layer {} ({:+.3f})', run, layer, round(-difference, 3) + 0.0), ', ' ORDER BY run, layer
            ) FILTER (difference < 0), ''),
        NULL, list(difference), list(noise)
    FROM pairs HAVING count(*) > 0
),
judged AS (
    SELECT position, measured, layers,
        judged(differences, noises) AS holds
    FROM measured
)
SELECT position, quantity, published,
    measured || of_layers(layers) AS measured,
    coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN judged USING (position)
ORDER BY position
