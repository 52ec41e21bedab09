COMMENT ON TABLE token_effects IS 'What the answer of a text owes to one of its tokens at one depth of a finished model';
COMMENT ON COLUMN token_effects.text IS 'The text';
COMMENT ON COLUMN token_effects.position IS 'The token of that text, from 0';
COMMENT ON COLUMN token_effects.token IS 'What it says';
COMMENT ON COLUMN token_effects.layer IS 'The layer after which its residual is changed, from 1; 0 is the embedding';
COMMENT ON COLUMN token_effects.erasure IS 'How far next-token distributions that predict the answer move at most when its residual becomes the mean; null where none of them sees it';
COMMENT ON COLUMN token_effects.attribution IS 'Its share of the probability of the answer by integrated gradients of residuals; null at the embedding and in designs without a residual';
COMMENT ON COLUMN token_effects.attention_attribution IS 'The same of what attention gives at it; null at the embedding';
COMMENT ON COLUMN token_effects.mlp_attribution IS 'The same of what the MLP gives at it; null at the embedding';
