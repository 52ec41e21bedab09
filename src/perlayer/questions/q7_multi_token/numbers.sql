-- What multi-token prediction changes in what every layer knows: final training loss with it minus that without, means over
-- seeds, nats per token. ahead: 1 for the next token, 2 for the one after. own_module: the loss of the module that predicts
-- that token, in the same runs.
SELECT method, ahead, layer, readout, plain, loss AS multi_token, difference, seeds, plain_seeds, module AS own_module
FROM multi_token_layers
WHERE residual = 'sandwich' AND full_depth AND rung IS NULL
ORDER BY method <> deepseek_v3(), method, ahead, layer
