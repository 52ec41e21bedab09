-- The least-squares line of the score over difficulty, each group counting the same. Its rise is a weighted sum of the
-- scores, so its variance is the sum of theirs under the squares of these weights.
CREATE VIEW depth_growth AS
WITH placed AS (
    SELECT *, difficulty - avg(difficulty) OVER every_group AS place,
        max(difficulty) OVER every_group - min(difficulty) OVER every_group AS span,
        regr_sxx(depth_score, difficulty) OVER every_group AS squares
    FROM group_scores WHERE difficulty IS NOT NULL AND depth_score IS NOT NULL
    WINDOW every_group AS (PARTITION BY run, prompts)
),
weighted AS (SELECT *, place * span / nullif(squares, 0) AS weight FROM placed)
SELECT run, prompts, any_value(layers) AS layers, count(*) AS prompt_groups,
    min_by(prompt_group, difficulty) AS easiest, max_by(prompt_group, difficulty) AS hardest,
    bool_and(prompt_group LIKE '%hops') AS hops,
    sum(weight * depth_score) AS growth,
    CASE WHEN count(standard_error) = count(*) THEN sqrt(sum((weight * standard_error) ** 2)) END AS standard_error,
    sum(weight * output_depth_score) AS output_growth,
    CASE WHEN count(output_standard_error) = count(*) THEN sqrt(sum((weight * output_standard_error) ** 2)) END
        AS output_standard_error,
    sum(answered * prompts_read) / sum(prompts_read) AS answered
FROM weighted
GROUP BY run, prompts
HAVING count(DISTINCT difficulty) > 1;
COMMENT ON VIEW depth_growth IS 'How much more deeply a finished model computes on the hardest prompts of a set than on the easiest, by a line through all groups';
COMMENT ON COLUMN depth_growth.run IS 'The run, or the published model';
COMMENT ON COLUMN depth_growth.prompts IS 'The set of prompts';
COMMENT ON COLUMN depth_growth.layers IS 'How many layers the model has';
COMMENT ON COLUMN depth_growth.prompt_groups IS 'How many groups it has read, of those whose names hold a number';
COMMENT ON COLUMN depth_growth.easiest IS 'The group of the lowest number';
COMMENT ON COLUMN depth_growth.hardest IS 'That of the highest';
COMMENT ON COLUMN depth_growth.hops IS 'Whether the groups are numbers of hops';
COMMENT ON COLUMN depth_growth.growth IS 'What the depth score by later contributions grows from the one to the other, layers';
COMMENT ON COLUMN depth_growth.standard_error IS 'Its standard error over prompts; null where a group has a single one';
COMMENT ON COLUMN depth_growth.output_growth IS 'The same of the depth score by predictions';
COMMENT ON COLUMN depth_growth.output_standard_error IS 'Its standard error over prompts';
COMMENT ON COLUMN depth_growth.answered IS 'Share of all these prompts that it answers';
