-- What views and the claims of all questions share.

-- A difference in nats, with its sign.
CREATE MACRO signed(difference) AS format('{:+.3f}', round(difference, 3) + 0.0);

-- Whether differences that a claim says are above 0 are: one below 0 by more than its noise denies it, and one that is
-- above by less leaves it within noise. Where the noise is not known (null), nothing is beyond it.
CREATE MACRO judged(differences, noises) AS
    CASE WHEN list_bool_or(list_transform(list_zip(differences, noises),
            lambda pair: pair[1] < -coalesce(pair[2], 'infinity'::DOUBLE))) THEN 'no'
        WHEN list_bool_and(list_transform(list_zip(differences, noises),
            lambda pair: pair[1] > coalesce(pair[2], 'infinity'::DOUBLE))) THEN 'yes'
        ELSE 'within noise' END;

-- The layers that numbers are of, in brackets after them; nothing for null.
CREATE MACRO of_layers(layers) AS
    CASE WHEN layers IS NULL THEN ''
        WHEN len(layers) = 1 THEN format(' (layer {})', layers[1])
        WHEN len(layers) > 2 AND layers[-1] - layers[1] = len(layers) - 1
            THEN format(' (layers {} to {})', layers[1], layers[-1])
        ELSE ' (layers ' || array_to_string(layers, ', ') || ')' END;

-- Numbers of one unit one after the other, in brackets where there are several; null when any of them is.
CREATE MACRO in_a_row(numbers) AS
    CASE WHEN list_bool_or(list_transform(numbers, lambda number: number IS NULL)) THEN NULL
        WHEN len(numbers) = 1 THEN format('{:.3f}', numbers[1])
        ELSE '(' || array_to_string(list_transform(numbers, lambda number: format('{:.3f}', number)), ' ') || ')' END;

-- The residual designs that are published side by side, what they are called, and variants of them that are not.
CREATE MACRO published_designs() AS [
    ['sandwich', 'Sandwich-LN'], ['pre_ln', 'Pre-LN'], ['layernorm_scaling', 'LayerNorm Scaling'],
    ['deepnorm', 'DeepNorm'], ['keel', 'KEEL'], ['hyper_connections', 'Hyper-Connections'], ['mhc', 'mHC'],
    ['attnres_full', 'AttnRes full'], ['attnres_block', 'AttnRes block'], ['moda', 'MoDA']
];
CREATE MACRO design_variants() AS [
    ['hyper_connections_static', 'Hyper-Connections static'], ['mhc_lite', 'mHC-lite']
];
-- The order in which designs are shown: those published, then the variants, then others.
CREATE MACRO design_place(residual) AS coalesce(
    list_position(list_transform(published_designs() || design_variants(), lambda design: design[1]), residual), 100
);
CREATE MACRO design_name(residual) AS coalesce(
    list_extract(
        list_transform(published_designs() || design_variants(), lambda design: design[2]), design_place(residual)
    ),
    replace(residual, '_', ' ')
);

-- How DeepSeek-V3 predicts the token after next, as the column `multi_token` of runs has it.
CREATE MACRO deepseek_v3() AS 'sequential, depth 1, weight 0.3';

-- What a setup of a residual design and a depth is called.
CREATE MACRO setup_label(residual, setup, layers, full_depth) AS concat_ws(', ',
    CASE WHEN residual <> 'sandwich' THEN design_name(residual) END,
    CASE setup WHEN 'separate' THEN 'separate heads' WHEN 'shared' THEN 'shared head'
        WHEN 'shared_stop_gradient' THEN 'shared, stop-gradient'
        ELSE CASE WHEN residual = 'sandwich' THEN 'baseline' END END,
    CASE WHEN NOT full_depth THEN format('{} layers', layers) END
);

-- How important a layer is called by what ablation does to perplexity, in percent: mean, and the ends of its interval.
CREATE MACRO importance(degradation, low, high) AS
    CASE WHEN degradation < -0.5 AND NOT (low <= 0 AND high >= 0) THEN 'anti'
        WHEN degradation >= 100 THEN 'critical' WHEN degradation >= 20 THEN 'important'
        WHEN degradation >= 2 THEN 'minor' ELSE 'redundant' END;

-- A change of perplexity: of its logarithm, in nats, from percent; and from that, in percent, as words.
CREATE MACRO in_nats(percent) AS ln(1 + percent / 100);
CREATE MACRO in_percent(nats) AS CASE
    WHEN 100 * (exp(nats) - 1) < 1000 THEN format('{:+.3g} %', 100 * (exp(nats) - 1))
    WHEN 100 * (exp(nats) - 1) < 1e6 THEN format('+{:,} %', round(100 * (exp(nats) - 1))::BIGINT)
    ELSE format('{:+.2e} %', 100 * (exp(nats) - 1)) END;

-- Means over seeds of the statistics in one view, of the runs in another, beside the baseline of as many layers. Seeds
-- scatter alike in all setups and designs of one depth as far as is known, so their variance is pooled over those with
-- several; it takes two degrees of freedom to count. Noise is three standard errors. Published models stand beside
-- nothing.
CREATE MACRO over_seeds(statistics, of_runs) AS TABLE
WITH grouped AS (
    SELECT residual, setup, layers, full_depth, label, place, lead AS run, statistic,
        coalesce(min_by(value, seed), any_value(value)) AS value, avg(value) AS mean, count(*) AS seeds,
        coalesce(var_samp(value), 0) * (count(*) - 1) AS squares
    FROM query_table(statistics) JOIN query_table(of_runs) USING (run)
    GROUP BY residual, setup, layers, full_depth, label, place, lead, statistic
),
scatter AS (
    SELECT layers, statistic, CASE WHEN sum(seeds - 1) >= 2 THEN sqrt(sum(squares) / sum(seeds - 1)) END AS std
    FROM grouped GROUP BY layers, statistic
)
SELECT mine.residual, mine.setup, mine.layers, mine.full_depth, mine.label, mine.place, mine.run, statistic,
    mine.value, mine.mean, mine.seeds,
    CASE WHEN mine.setup <> 'published' THEN 3 * std / sqrt(mine.seeds) END AS noise,
    CASE WHEN beside THEN mine.mean - baseline.mean END AS difference,
    CASE WHEN beside THEN 3 * std * sqrt(1 / mine.seeds + 1 / baseline.seeds) END AS difference_noise
FROM grouped AS mine
JOIN scatter USING (layers, statistic)
LEFT JOIN (SELECT * FROM grouped WHERE residual = 'sandwich' AND setup = 'baseline') AS baseline
    USING (layers, statistic)
CROSS JOIN LATERAL (SELECT mine.run <> baseline.run AND mine.setup <> 'published' AS beside);

-- The kinds of matrix of a layer, in the order in which they are shown.
CREATE MACRO matrices() AS ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

-- The kinds of manipulation, in the order in which they are shown.
CREATE MACRO manipulation_kinds() AS
    ['scale', 'noise', 'neighbour_interpolation', 'neighbour_copy', 'predicted', 'random'];
