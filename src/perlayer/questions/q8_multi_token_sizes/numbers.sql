-- What multi-token prediction changes in the next-token loss of the last layer, from the smallest size to the largest:
-- final training loss with it minus that without, means over seeds, nats per token. parameters: of the layers alone.
SELECT method, multi.size, multi.layers, backbone_parameters::BIGINT AS parameters, tokens, multi.plain, loss AS multi_token,
    difference, multi.seeds, plain_seeds
FROM multi_token_layers AS multi JOIN runs ON run = "group"
WHERE multi.residual = 'sandwich' AND multi.full_depth AND readout = 'head'
ORDER BY method <> deepseek_v3(), method, backbone_parameters, multi.size
