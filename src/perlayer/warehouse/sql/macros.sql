-- What views and questions share.

-- What a residual design is called, and the order in which designs are shown. Columns have names here that no argument has,
-- which would else be taken for the column.
CREATE MACRO design_name(which) AS (
    SELECT any_value(called) FROM (SELECT residual AS known, design AS called FROM runs) WHERE known = which
);
CREATE MACRO design_place(which) AS (
    SELECT any_value(placed) FROM (SELECT residual AS known, design_place AS placed FROM runs) WHERE known = which
);

-- How DeepSeek-V3 predicts the token after next, as the column `multi_token` of runs has it.
CREATE MACRO deepseek_v3() AS 'sequential, depth 1, weight 0.3';

-- A change of the logarithm of perplexity, in nats, from percent.
CREATE MACRO in_nats(percent) AS ln(1 + percent / 100);

-- The kinds of matrix of a layer, in the order in which they are shown.
CREATE MACRO matrices() AS ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

-- The kinds of manipulation, in the order in which they are shown.
CREATE MACRO manipulation_kinds() AS
    ['scale', 'noise', 'neighbour_interpolation', 'neighbour_copy', 'predicted', 'random'];
