-- Each published claim about lenses on finished models: held-out losses and divergences, nats per token. One model read at
-- two layers, or in two ways, is a number over text: its standard error is that of both readings as if they were
-- independent, which is more than enough, as the text is the same. What compares setups, or shares, is over seeds.
WITH
layers AS (
    SELECT unnest(range(1, layers + 1)) AS layer, layers AS last
    FROM (SELECT greatest(max(layers), 2) AS layers FROM recipe_runs WHERE full_depth)
),
-- Probes leave the backbone as it is: of a seed that is plain with and without them one is read.
plain AS (
    SELECT backbone AS "group", run, seed, size, lenses.layer, loss, loss_standard_error AS error
    FROM recipe_runs AS runs JOIN lenses USING (run, size)
    WHERE residual = 'sandwich' AND full_depth AND plain AND readout = 'logit_lens'
    QUALIFY row_number() OVER (PARTITION BY seed, lenses.layer ORDER BY readouts, run) = 1
),
lens AS (FROM layers LEFT JOIN plain USING (layer)),
baseline AS (FROM lens QUALIFY row_number() OVER (PARTITION BY layer ORDER BY seed) = 1),
heads AS (
    SELECT layer, last, seed_group AS "group", run, loss, size
    FROM layers LEFT JOIN (
        SELECT * FROM recipe_runs JOIN held_out USING (run)
        WHERE residual = 'sandwich' AND full_depth AND standard AND readouts = 'separate'
    ) USING (layer)
),
-- What the last two layers bring, of what all after the first do: 0 below half of it, where that is a fall.
ends AS (
    SELECT "group", run, last, size, max(loss) FILTER (layer = 1) AS first_loss,
        max(loss) FILTER (layer = last - 2) AS before, max(loss) FILTER (layer = last) AS last_loss
    FROM lens GROUP BY "group", run, last, size
),
tuned AS (
    SELECT format('{} layer {}', run, layer) AS part, run, logit.kl_final_lens - tuned.kl_final_lens AS value,
        sqrt(logit.kl_final_lens_standard_error ** 2 + tuned.kl_final_lens_standard_error ** 2) AS standard_error
    FROM (SELECT *, max(layer) OVER (PARTITION BY run) AS last FROM lenses WHERE readout = 'logit_lens') AS logit
    JOIN (SELECT * FROM lenses WHERE readout = 'tuned_lens') AS tuned USING (run, layer)
    WHERE layer < last
),
over_seeds AS (
    SELECT 'above_heads' AS claim, format('layer {}', layer) AS part, 1.0 AS coefficient, "group", run, loss AS value,
        format('logit lens of layer {} of {}, {}', layer, last, size) AS pool
    FROM lens WHERE layer < last
    UNION ALL
    SELECT 'above_heads', format('layer {}', layer), -1.0, "group", run, loss,
        format('held-out loss of layer {} of {} by separate, {}', layer, last, size)
    FROM heads WHERE layer < last
    UNION ALL
    SELECT 'last_two', 'last two minus half of the fall', 1.0, "group", run,
        CASE WHEN last > 3 THEN before - last_loss - (first_loss - last_loss) / 2 END,
        format('logit lens of {} layers, last two minus half of the fall, {}', last, size)
    FROM ends
    UNION ALL
    SELECT 'last_two', 'the fall', 1.0, "group", run, first_loss - last_loss,
        format('logit lens of {} layers, the fall, {}', last, size)
    FROM ends
),
over_text AS (
    SELECT 'falls' AS claim, format('layer {}', layer) AS part, 'below' AS side, run,
        loss - lag(loss) OVER (ORDER BY layer) AS value,
        sqrt(error ** 2 + lag(error) OVER (ORDER BY layer) ** 2) AS standard_error
    FROM baseline QUALIFY layer > 1
    UNION ALL
    SELECT 'tuned_closer', coalesce(part, 'no model'), 'above', run, value, standard_error
    FROM (SELECT 1) LEFT JOIN tuned ON true
)
SELECT claim, part, 'above' AS side, 0.0 AS threshold, coefficient, "group", run, value, pool, NULL AS standard_error,
    NULL AS covers
FROM over_seeds
UNION ALL
SELECT claim, part, side, 0.0, 1.0, run, run, value, NULL, coalesce(standard_error, 'infinity'), 'text' FROM over_text
