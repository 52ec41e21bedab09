COMMENT ON TABLE weight_components IS 'How much of the variance of weights over the layers of a finished model few principal components explain, beside independent layers';
COMMENT ON COLUMN weight_components.run IS 'The run, or the published model';
COMMENT ON COLUMN weight_components.matrix IS 'The kind of matrix: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj or down_proj';
COMMENT ON COLUMN weight_components.components IS 'How many of the first components, up to one less than the layers';
COMMENT ON COLUMN weight_components.explained IS 'The share of the variance that they explain';
COMMENT ON COLUMN weight_components.independent IS 'The same of independent normal draws with the norms of the layers';
COMMENT ON COLUMN weight_components.initial IS 'The same before training';
COMMENT ON COLUMN weight_components.excess IS 'The share minus that of the independent draws';
