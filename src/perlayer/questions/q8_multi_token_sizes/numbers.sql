-- What multi-token prediction changes in the next-token loss of the last layer, from the smallest size to the largest:
-- final training loss with it minus that without, mean over pairs of one seed, nats per token. noise_floor: how far plain
-- runs of that size end apart. parameters: of the layers alone.
SELECT way, size, layers, backbone_parameters::BIGINT AS parameters, tokens, plain, loss AS multi_token, difference,
    standard_error, noise, floor AS noise_floor, seeds AS pairs
FROM multi_token_sizes
WHERE residual = 'sandwich'
ORDER BY way <> deepseek_v3(), way, backbone_parameters, size
