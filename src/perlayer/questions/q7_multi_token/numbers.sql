-- What multi-token prediction changes in what every layer knows: final training loss with it minus that without, mean
-- over pairs of one seed, nats per token. ahead: 1 for the next token, 2 for the one after. own_module: the loss of the
-- module that predicts that token, in the same runs.
SELECT way, ahead, layer, readout, plain, loss AS multi_token, difference, noise, seeds AS pairs, module AS own_module
FROM multi_token_layers
WHERE residual = 'sandwich' AND full_depth AND NOT at_rung
ORDER BY way <> deepseek_v3(), way, ahead, layer
