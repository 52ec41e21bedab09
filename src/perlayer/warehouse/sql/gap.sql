CREATE VIEW gap AS
SELECT final_loss.run, layer, readout, final_loss.loss, depth_matched.loss AS depth_matched_loss,
    final_loss.loss - depth_matched.loss AS gap
FROM final_loss
JOIN recipe_runs AS runs ON runs.run = final_loss.run AND runs.present
JOIN depth_matched ON depth_matched.residual = runs.residual AND depth_matched.layers = layer
WHERE depth_matched.run <> final_loss.run;
COMMENT ON VIEW gap IS 'Every layer beside the depth-matched baseline of its residual design';
COMMENT ON COLUMN gap.layer IS 'The layer, from 1';
COMMENT ON COLUMN gap.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN gap.loss IS 'Final training loss read after the layer, nats per token';
COMMENT ON COLUMN gap.depth_matched_loss IS 'Final training loss of the depth-matched baseline, nats per token';
COMMENT ON COLUMN gap.gap IS 'loss minus depth_matched_loss: above 0 the layer predicts worse than the depth-matched baseline';
