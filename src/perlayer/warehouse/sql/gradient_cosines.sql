CREATE VIEW gradient_cosines AS
SELECT run, step, tokens, layer, other_layer AS backbone_layer,
    max(value) FILTER (metric = 'gradient_cosine') AS cosine,
    max(value) FILTER (metric = 'gradient_norm') AS norm,
    max(value) FILTER (metric = 'summed_gradient_cosine') AS summed_cosine,
    max(value) FILTER (metric = 'summed_gradient_norm') AS summed_norm,
    readout
FROM layer_metrics
WHERE metric IN ('gradient_cosine', 'gradient_norm', 'summed_gradient_cosine', 'summed_gradient_norm')
    AND split = 'train' AND ahead = 1
GROUP BY run, step, tokens, layer, other_layer, readout;
COMMENT ON VIEW gradient_cosines IS 'How the gradient of the loss read after each layer lies to that of the final loss, over the parameters of the layers, while a run trains';
COMMENT ON COLUMN gradient_cosines.step IS 'The update, from 1, before which the gradients were taken';
COMMENT ON COLUMN gradient_cosines.tokens IS 'Training tokens so far';
COMMENT ON COLUMN gradient_cosines.layer IS 'The layer after which the loss is read, from 1';
COMMENT ON COLUMN gradient_cosines.backbone_layer IS 'The layer over whose parameters the gradients are compared; null for all layers together';
COMMENT ON COLUMN gradient_cosines.cosine IS 'Cosine with the gradient of the final loss; null at the last layer, whose loss that is';
COMMENT ON COLUMN gradient_cosines.norm IS 'Euclidean norm of the gradient';
COMMENT ON COLUMN gradient_cosines.summed_cosine IS 'At the last layer: cosine of the summed gradients of all losses below with that of the final loss';
COMMENT ON COLUMN gradient_cosines.summed_norm IS 'At the last layer: norm of those summed gradients';
COMMENT ON COLUMN gradient_cosines.readout IS 'How the layer was read: as in training, head at the last layer, counterfactual where no loss of the layer trains the backbone';
