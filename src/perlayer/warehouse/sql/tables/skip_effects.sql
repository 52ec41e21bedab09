COMMENT ON TABLE skip_effects IS 'What leaving out a layer or sublayer of a finished model changes in the contributions of later layers';
COMMENT ON COLUMN skip_effects.layer IS 'The layer that is left out, from 1';
COMMENT ON COLUMN skip_effects.sublayer IS 'What of it gives nothing: attention, mlp, or null for both; block for the layer as the identity, where that is not the same';
COMMENT ON COLUMN skip_effects.later_layer IS 'The later layer whose contribution is looked at';
COMMENT ON COLUMN skip_effects.stat IS 'How the tokens of held-out text were brought to one number: mean, p95 or max';
COMMENT ON COLUMN skip_effects.effect_all IS 'Relative change of that contribution, left out and looked at everywhere but at the first token of a text';
COMMENT ON COLUMN skip_effects.effect_future IS 'The same, left out before a split and looked at from there on';
COMMENT ON COLUMN skip_effects.local_effect_all IS 'As effect_all if that later layer alone read the change';
COMMENT ON COLUMN skip_effects.local_effect_future IS 'As effect_future if that later layer alone read the change';
