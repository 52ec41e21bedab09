-- What views and questions share.

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

-- A change of the logarithm of perplexity, in nats, from percent.
CREATE MACRO in_nats(percent) AS ln(1 + percent / 100);

-- The kinds of matrix of a layer, in the order in which they are shown.
CREATE MACRO matrices() AS ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

-- The kinds of manipulation, in the order in which they are shown.
CREATE MACRO manipulation_kinds() AS
    ['scale', 'noise', 'neighbour_interpolation', 'neighbour_copy', 'predicted', 'random'];
