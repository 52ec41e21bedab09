CREATE VIEW predictability AS
SELECT run, layer, sublayer AS matrix,
    max(value) FILTER (metric = 'r2') AS r2,
    max(value) FILTER (metric = 'r2_initial') AS initial,
    max(value) FILTER (metric = 'r2_shuffled') AS shuffled,
    max(value) FILTER (metric = 'r2_entries_alone') AS entries_alone,
    max(value) FILTER (metric = 'r2_by_penalty') AS best_penalty,
    min(value) FILTER (metric = 'r2_by_penalty') AS worst_penalty
FROM dissections
WHERE analysis = 'predictability'
GROUP BY run, layer, sublayer;
COMMENT ON VIEW predictability IS 'R2 of the weights of a finished model predicted from those of the layers before and after, on entries that were not fitted';
COMMENT ON COLUMN predictability.run IS 'The run, or the published model';
COMMENT ON COLUMN predictability.layer IS 'The layer, from 1';
COMMENT ON COLUMN predictability.matrix IS 'The kind of matrix: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj or down_proj';
COMMENT ON COLUMN predictability.r2 IS 'R2: 1 is a perfect prediction, 0 no better than the mean';
COMMENT ON COLUMN predictability.initial IS 'The same before training';
COMMENT ON COLUMN predictability.shuffled IS 'The same with the layers in other orders, mean over them';
COMMENT ON COLUMN predictability.entries_alone IS 'The same from entries alone, without means and standard deviations of rows and columns';
COMMENT ON COLUMN predictability.best_penalty IS 'Highest R2 over the penalties that were tried';
COMMENT ON COLUMN predictability.worst_penalty IS 'Lowest R2 over them';
