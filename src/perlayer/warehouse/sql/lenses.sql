CREATE VIEW lenses AS
SELECT run, size, layer, readout, step,
    max(value) FILTER (metric = 'loss') AS loss,
    max(value) FILTER (metric = 'kl_lens_final') AS kl_lens_final,
    max(value) FILTER (metric = 'kl_final_lens') AS kl_final_lens,
    max(value) FILTER (metric = 'top5_overlap') AS top5_overlap,
    max(value) FILTER (metric = 'argmax_agreement') AS argmax_agreement,
    max(value) FILTER (metric = 'entropy') AS entropy,
    tokens,
    max(value) FILTER (metric = 'loss_standard_error') AS loss_standard_error,
    max(value) FILTER (metric = 'kl_lens_final_standard_error') AS kl_lens_final_standard_error,
    max(value) FILTER (metric = 'kl_final_lens_standard_error') AS kl_final_lens_standard_error,
    max(value) FILTER (metric = 'top5_overlap_standard_error') AS top5_overlap_standard_error,
    max(value) FILTER (metric = 'argmax_agreement_standard_error') AS argmax_agreement_standard_error,
    max(value) FILTER (metric = 'entropy_standard_error') AS entropy_standard_error,
    max(value) FILTER (metric = 'evaluated_tokens') AS evaluated_tokens
FROM layer_metrics
WHERE readout IN ('logit_lens', 'tuned_lens') AND split = 'val' AND ahead = 1 AND other_layer IS NULL
GROUP BY run, size, layer, readout, step, tokens;
COMMENT ON VIEW lenses IS 'Lenses on finished models: what the residual stream after a layer says to the final norm and head, on held-out text';
COMMENT ON COLUMN lenses.run IS 'The run, or the published model';
COMMENT ON COLUMN lenses.size IS 'Its recipe; published for a published model';
COMMENT ON COLUMN lenses.layer IS 'The layer, from 1; 0 is the embedding';
COMMENT ON COLUMN lenses.readout IS 'logit_lens, or tuned_lens: through a trained affine map first';
COMMENT ON COLUMN lenses.step IS 'The update of the tuned lens that was kept; 0 is the logit lens itself';
COMMENT ON COLUMN lenses.loss IS 'Cross-entropy to the next token, nats';
COMMENT ON COLUMN lenses.kl_lens_final IS 'KL(lens || final output), nats';
COMMENT ON COLUMN lenses.kl_final_lens IS 'KL(final output || lens), nats';
COMMENT ON COLUMN lenses.top5_overlap IS 'Share of the five likeliest tokens that lens and final output have in common';
COMMENT ON COLUMN lenses.argmax_agreement IS 'Share of tokens whose likeliest next token is the same';
COMMENT ON COLUMN lenses.entropy IS 'Entropy of the lens, nats';
COMMENT ON COLUMN lenses.tokens IS 'Tokens that the tuned lens had been trained on';
COMMENT ON COLUMN lenses.loss_standard_error IS 'Its standard error over held-out sequences';
COMMENT ON COLUMN lenses.kl_lens_final_standard_error IS 'Its standard error over held-out sequences';
COMMENT ON COLUMN lenses.kl_final_lens_standard_error IS 'Its standard error over held-out sequences';
COMMENT ON COLUMN lenses.top5_overlap_standard_error IS 'Its standard error over held-out sequences';
COMMENT ON COLUMN lenses.argmax_agreement_standard_error IS 'Its standard error over held-out sequences';
COMMENT ON COLUMN lenses.entropy_standard_error IS 'Its standard error over held-out sequences';
COMMENT ON COLUMN lenses.evaluated_tokens IS 'Held-out targets that were read';
