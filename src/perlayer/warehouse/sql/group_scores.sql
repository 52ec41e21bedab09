-- A group is as hard as the first number says that is a word of its name: level 3, 4 hops, 6 operands, but not gsm8k.
CREATE VIEW group_scores AS
WITH named AS (
    SELECT *, split_part(text, ': ', 1) AS prompts, substr(text, strpos(text, ': ') + 2) AS prompt_group
    FROM dissections WHERE analysis = 'depth_by_group' AND sublayer IS NULL
)
SELECT run, prompts, prompt_group, TRY_CAST(regexp_extract(prompt_group, '\b\d+(\.\d+)?\b') AS DOUBLE) AS difficulty,
    layer AS layers,
    max(value) FILTER (metric = 'prompts')::INTEGER AS prompts_read,
    max(value) FILTER (metric = 'too_long')::INTEGER AS too_long,
    max(value) FILTER (metric = 'answered') AS answered,
    max(value) FILTER (metric = 'depth_score' AND stat = 'mean') AS depth_score,
    max(value) FILTER (metric = 'depth_score_standard_error') AS standard_error,
    max(value) FILTER (metric = 'output_depth_score' AND stat = 'mean') AS output_depth_score,
    max(value) FILTER (metric = 'output_depth_score_standard_error') AS output_standard_error,
    max(value) FILTER (metric = 'depth_score' AND stat = 'max') AS depth_score_by_max
FROM named
GROUP BY run, prompts, prompt_group, layer;
COMMENT ON VIEW group_scores IS 'How deeply a finished model computes on prompts of one difficulty: the mean layer, weighted by what leaving it out changes at later tokens';
COMMENT ON COLUMN group_scores.run IS 'The run, or the published model';
COMMENT ON COLUMN group_scores.prompts IS 'The set of prompts, as depth.prompts of params.yaml names it';
COMMENT ON COLUMN group_scores.prompt_group IS 'Which of them: a level, a number of hops or of operands';
COMMENT ON COLUMN group_scores.difficulty IS 'The first number that is a word of that name; null without any';
COMMENT ON COLUMN group_scores.layers IS 'How many layers the model has';
COMMENT ON COLUMN group_scores.prompts_read IS 'How many prompts were read';
COMMENT ON COLUMN group_scores.too_long IS 'How many were left out, as longer than the model reads';
COMMENT ON COLUMN group_scores.answered IS 'Share of prompts of whose answer every token is the likeliest; null where none was read';
COMMENT ON COLUMN group_scores.depth_score IS 'In layers from 1, weighted by the mean effect on the contributions of later layers; null where none was read';
COMMENT ON COLUMN group_scores.standard_error IS 'Its standard error over prompts; null for a single one';
COMMENT ON COLUMN group_scores.output_depth_score IS 'In layers from 1, weighted by the mean effect on predictions';
COMMENT ON COLUMN group_scores.output_standard_error IS 'Its standard error over prompts';
COMMENT ON COLUMN group_scores.depth_score_by_max IS 'As depth_score, by the greatest effects';
