CREATE VIEW gap AS
SELECT final_loss.run, layer, readout, final_loss.loss, ordinary.loss AS ordinary_loss,
    final_loss.loss - ordinary.loss AS gap
FROM final_loss
JOIN recipe_runs AS runs ON runs.run = final_loss.run AND runs.present
JOIN ordinary ON ordinary.residual = runs.residual AND ordinary.layers = layer
WHERE ordinary.run <> final_loss.run;
COMMENT ON VIEW gap IS 'Every layer beside an ordinary model of its depth and residual design';
COMMENT ON COLUMN gap.layer IS 'The layer, from 1';
COMMENT ON COLUMN gap.readout IS 'How the layer was read; head at the last layer';
COMMENT ON COLUMN gap.loss IS 'Final training loss read after the layer, nats per token';
COMMENT ON COLUMN gap.ordinary_loss IS 'Final training loss of the ordinary model with as many layers, nats per token';
COMMENT ON COLUMN gap.gap IS 'loss minus ordinary_loss: above 0 the layer predicts worse than the ordinary model';
