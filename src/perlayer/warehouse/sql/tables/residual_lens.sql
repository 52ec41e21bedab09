-- On the text and the residual of the other dissections of depth; view lenses reads more text, and where a design
-- attends over depth another residual.
COMMENT ON TABLE residual_lens IS 'How near the output of a finished model is to its final one when its own norm and head read the residual after a layer, means over the tokens of held-out text';
COMMENT ON COLUMN residual_lens.layer IS 'The layer, from 1; 0 is the embedding';
COMMENT ON COLUMN residual_lens.kl_lens_final IS 'KL(lens || final output), nats';
COMMENT ON COLUMN residual_lens.kl_final_lens IS 'KL(final output || lens), nats';
COMMENT ON COLUMN residual_lens.top5_overlap IS 'Share of the five likeliest tokens that lens and final output have in common';
