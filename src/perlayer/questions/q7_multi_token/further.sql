-- What the module that predicts the token after next reaches, beside the probe on the layer that it starts from.
SELECT format('{:.3f} nats for the token after next, {:.3f} {}', module, abs(loss - module),
    if(loss > module, 'below', 'above'))
FROM multi_token_layers
WHERE residual = 'sandwich' AND full_depth AND rung IS NULL AND method = deepseek_v3() AND ahead = 2
    AND module IS NOT NULL
