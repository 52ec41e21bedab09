CREATE VIEW routing AS
SELECT run, layer, sublayer,
    CASE sublayer WHEN 'attention' THEN 2 * layer - 2 WHEN 'mlp' THEN 2 * layer - 1 ELSE 2 * layer END AS place,
    other_layer,
    max(value) FILTER (metric = 'read' AND stat = 'mean') AS read,
    max(value) FILTER (metric = 'write' AND stat = 'mean') AS write,
    max(value) FILTER (metric = 'source_weight' AND stat = 'mean') AS source_weight,
    max(value) FILTER (metric = 'source_entropy' AND stat = 'mean') AS source_entropy,
    max(value) FILTER (metric = 'forward_gain' AND stat = 'mean') AS forward_gain,
    max(value) FILTER (metric = 'forward_gain' AND stat = 'max') AS greatest_forward_gain,
    max(value) FILTER (metric = 'backward_gain' AND stat = 'mean') AS backward_gain,
    max(value) FILTER (metric = 'backward_gain' AND stat = 'max') AS greatest_backward_gain,
    max(value) FILTER (metric = 'least_column_sum' AND stat = 'mean') AS least_column_sum
FROM dissections
WHERE analysis = 'routing' AND metric NOT LIKE '%\_into\_%' ESCAPE '\'
GROUP BY run, layer, sublayer, other_layer;
COMMENT ON VIEW routing IS 'How the sublayers of a finished model read and write where its residual design routes, means over the tokens of held-out text';
COMMENT ON COLUMN routing.layer IS 'The layer, from 1';
COMMENT ON COLUMN routing.sublayer IS 'attention or mlp of that layer; head for the model''s own readout, at the last layer';
COMMENT ON COLUMN routing.place IS 'Its place among all sublayers, from 0; the head comes last';
COMMENT ON COLUMN routing.other_layer IS 'The stream, from 1, or the source, from 0, the embedding; null for what belongs to none';
COMMENT ON COLUMN routing.read IS 'By which weight the sublayer reads the stream';
COMMENT ON COLUMN routing.write IS 'By which weight it writes into the stream';
COMMENT ON COLUMN routing.source_weight IS 'Its attention weight of the source';
COMMENT ON COLUMN routing.source_entropy IS 'Entropy of its attention over sources, nats';
COMMENT ON COLUMN routing.forward_gain IS 'Greatest |row sum| of the product of the mixing matrices from the first sublayer to this one';
COMMENT ON COLUMN routing.greatest_forward_gain IS 'The same at the token where it is greatest';
COMMENT ON COLUMN routing.backward_gain IS 'Greatest |column sum| of that product';
COMMENT ON COLUMN routing.greatest_backward_gain IS 'The same at the token where it is greatest';
COMMENT ON COLUMN routing.least_column_sum IS 'Least column sum of that product';
