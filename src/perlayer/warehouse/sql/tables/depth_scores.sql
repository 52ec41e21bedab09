COMMENT ON TABLE depth_scores IS 'The mean layer of a finished model, weighted by what leaving it out changes at future tokens';
COMMENT ON COLUMN depth_scores.sublayer IS 'What is left out: attention, mlp, or null for the whole layer';
COMMENT ON COLUMN depth_scores.stat IS 'How the tokens of held-out text were brought to one effect: mean, p95 or max';
COMMENT ON COLUMN depth_scores.depth_score IS 'In layers from 1, weighted by the mean effect on the contributions of later layers';
COMMENT ON COLUMN depth_scores.output_depth_score IS 'In layers from 1, weighted by the effect on predictions';
