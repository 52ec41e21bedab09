COMMENT ON TABLE effective_depths IS 'At which layer of a finished model it turns from reading to predicting, in layers from 1; null for what does not happen';
COMMENT ON COLUMN effective_depths.cosine IS 'The last layer at which the mean cosine of layer, attention and MLP with the residual turns from below 0 to not below';
COMMENT ON COLUMN effective_depths.kl IS 'The first layer whose input has a KL(lens || final output) below half of the greatest';
COMMENT ON COLUMN effective_depths.overlap IS 'The first layer whose input shares more than a fifth of the five likeliest tokens with the final output';
