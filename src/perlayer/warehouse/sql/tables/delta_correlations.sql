COMMENT ON TABLE delta_correlations IS 'Correlation of consecutive changes of weights from layer to layer of a finished model, beside what independent layers give';
COMMENT ON COLUMN delta_correlations.run IS 'The run, or the published model';
COMMENT ON COLUMN delta_correlations.layer IS 'The layer in the middle, from 2: of its weights minus those of the layer before with those of the layer after minus its own';
COMMENT ON COLUMN delta_correlations.matrix IS 'The kind of matrix: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj or down_proj';
COMMENT ON COLUMN delta_correlations.correlation IS 'The correlation over all entries';
COMMENT ON COLUMN delta_correlations.independent IS 'What independent layers with variances like these give: -0.5 where the variances are equal';
COMMENT ON COLUMN delta_correlations.initial IS 'The correlation before training';
COMMENT ON COLUMN delta_correlations.excess IS 'The correlation minus what independent layers give';
