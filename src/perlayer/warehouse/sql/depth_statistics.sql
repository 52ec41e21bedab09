-- Skipping is that of whole layers, its effects means over tokens; a layer's effect on later contributions is the mean
-- over the layers after it. Halves leave out layer 1, without which hardly a residual is left, and the last layer,
-- which can change nothing at future tokens. What happens in no layer (the output comes near only after the last) is
-- put at layer L + 1, whose input the output is. Within each text, least squares say how the depth until which tokens
-- matter changes from its first token to its last, of those that count.
CREATE VIEW depth_statistics AS
WITH
models AS (SELECT run, max(layer) AS layers FROM contributions GROUP BY run),
drops AS (
    SELECT run,
        max(ratio) FILTER (sublayer IS NULL) AS layer_ratio,
        max(ratio) FILTER (sublayer = 'attention') AS attention_ratio,
        max(ratio) FILTER (sublayer = 'mlp') AS mlp_ratio,
        max(middle_drop) FILTER (sublayer IS NULL) AS middle_drop,
        max(other_drop) FILTER (sublayer IS NULL) AS other_drop,
        max(drop_share) FILTER (sublayer IS NULL) AS drop_share,
        max(drop_layer) FILTER (sublayer IS NULL) AS drop_layer,
        max(steepest_layer) FILTER (sublayer IS NULL) AS steepest_layer
    FROM contribution_drops GROUP BY run
),
cosines AS (
    SELECT run,
        avg(cosine) FILTER (2 * (2 * layer - 1) > layers AND 2 * layer - 1 < layers) AS cosine_before_middle,
        avg(cosine) FILTER (2 * layer - 1 > layers AND 2 * (2 * layer - 1) < 3 * layers) AS cosine_after_middle
    FROM contributions JOIN models USING (run)
    WHERE sublayer IS NULL AND layer > 0
    GROUP BY run
),
skipped AS (
    SELECT run, layer, any_value(output_effect_all) AS everywhere, any_value(output_effect_future) AS future,
        avg(effect_future) AS later
    FROM output_effects
    LEFT JOIN (SELECT run, layer, effect_future FROM skip_effects WHERE sublayer IS NULL AND stat = 'mean')
        USING (run, layer)
    WHERE sublayer IS NULL AND stat = 'mean'
    GROUP BY run, layer
),
halves AS (
    SELECT run, CASE WHEN 2 * layer <= layers THEN 1 WHEN 2 * (layers - layer + 1) <= layers THEN 2 END AS half,
        avg(later) AS later, avg(future) AS future, avg(everywhere) AS everywhere
    FROM skipped JOIN models USING (run)
    WHERE layer > 1 AND layer < layers
    GROUP BY run, half
),
skipping AS (
    SELECT run,
        max(later) FILTER (half = 2) / nullif(max(later) FILTER (half = 1), 0) AS future_effect_ratio,
        max(future) FILTER (half = 2) / nullif(max(future) FILTER (half = 1), 0) AS future_output_ratio,
        max(everywhere) FILTER (half = 2) / nullif(max(everywhere) FILTER (half = 1), 0) AS output_ratio,
        max(future / nullif(everywhere, 0)) FILTER (half = 1) AS future_share_first,
        max(future / nullif(everywhere, 0)) FILTER (half = 2) AS future_share_second
    FROM halves GROUP BY run
),
tokens AS (
    SELECT run,
        avg(until) FILTER (measure = 'erasure') AS erasure_depth,
        regr_slope(until - usual, place - middle) FILTER (measure = 'erasure') AS erasure_rise,
        avg(until) FILTER (measure = 'attribution') AS attribution_depth,
        regr_slope(until - usual, place - middle) FILTER (measure = 'attribution') AS attribution_rise
    FROM (
        SELECT *, avg(until) OVER text AS usual, avg(place) OVER text AS middle FROM token_depths
        WINDOW text AS (PARTITION BY run, measure, text)
    )
    GROUP BY run
),
wide AS (
    SELECT run, layer_ratio, attention_ratio, mlp_ratio, ln(layer_ratio) AS layer_log_ratio,
        ln(attention_ratio) AS attention_log_ratio, ln(attention_ratio / mlp_ratio) AS attention_over_mlp,
        -ln(1 - drop_share) AS log_drop, -ln(1 - middle_drop) AS middle_log_drop,
        ln((1 - other_drop) / (1 - middle_drop)) AS middle_over_other_drop, drop_layer::DOUBLE AS drop_layer,
        cosine_before_middle, cosine_after_middle, future_effect_ratio, future_output_ratio, output_ratio,
        ln(nullif(future_effect_ratio, 0)) AS future_effect_log_ratio,
        ln(nullif(future_output_ratio, 0)) AS future_output_log_ratio, future_share_first, future_share_second,
        ln(nullif(future_share_second / future_share_first, 0)) AS future_share_log_ratio,
        coalesce(kl, models.layers + 1)::DOUBLE AS kl_layer,
        coalesce(overlap, models.layers + 1)::DOUBLE AS overlap_layer,
        kl_layer - steepest_layer AS kl_beyond_drop, overlap_layer - steepest_layer AS overlap_beyond_drop,
        depth_score, output_depth_score, erasure_depth, erasure_rise, attribution_depth, attribution_rise
    FROM models
    LEFT JOIN drops USING (run)
    LEFT JOIN cosines USING (run)
    LEFT JOIN skipping USING (run)
    LEFT JOIN effective_depths USING (run)
    LEFT JOIN (SELECT run, depth_score, output_depth_score FROM depth_scores WHERE sublayer IS NULL AND stat = 'mean')
        USING (run)
    LEFT JOIN tokens USING (run)
)
SELECT run, statistic, value FROM (UNPIVOT wide ON * EXCLUDE (run) INTO NAME statistic VALUE value);
COMMENT ON VIEW depth_statistics IS 'How a finished model uses its depth, in single numbers: one row a run and number';
COMMENT ON COLUMN depth_statistics.statistic IS 'layer_ratio, attention_ratio, mlp_ratio: relative contribution of the second half of the layers over the first, without layer 1; layer_log_ratio, attention_log_ratio and attention_over_mlp: their natural logarithms, and that of attention_ratio over mlp_ratio. log_drop, middle_log_drop: -ln(1 - share) of drop_share and middle_drop of contribution_drops, middle_over_other_drop: the latter minus that of other_drop; drop_layer. cosine_before_middle, cosine_after_middle: mean cosine of layers in the second and in the third quarter of the depth. future_effect_ratio, future_output_ratio, output_ratio: what skipping a layer changes in later contributions to future tokens, in predictions of future tokens and in all predictions, second half over first, without the first and the last layer; future_share_first, future_share_second: prediction change at future tokens over that everywhere, by half; future_effect_log_ratio, future_output_log_ratio, future_share_log_ratio: logarithms of second over first. kl_layer, overlap_layer: as in effective_depths, L + 1 for what happens in no layer; kl_beyond_drop, overlap_beyond_drop: minus steepest_layer of contribution_drops. depth_score, output_depth_score. erasure_depth, attribution_depth: until of token_depths, mean over tokens; erasure_rise, attribution_rise: how much greater it is at the last such token of a text than at the first, by least squares, in layers';
COMMENT ON COLUMN depth_statistics.value IS 'The number';
