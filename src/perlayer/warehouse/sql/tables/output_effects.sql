COMMENT ON TABLE output_effects IS 'What leaving out a layer or sublayer of a finished model changes in its predictions';
COMMENT ON COLUMN output_effects.layer IS 'The layer that is left out, from 1';
COMMENT ON COLUMN output_effects.sublayer IS 'What of it gives nothing: attention, mlp, or null for both; block for the layer as the identity, where that is not the same';
COMMENT ON COLUMN output_effects.stat IS 'How the tokens of held-out text were brought to one number: mean, p95 or max';
COMMENT ON COLUMN output_effects.output_effect_all IS 'Euclidean distance between next-token distributions, left out and looked at everywhere but at the first token of a text';
COMMENT ON COLUMN output_effects.output_effect_future IS 'The same, left out before a split and looked at from there on; of the last layer always 0';
