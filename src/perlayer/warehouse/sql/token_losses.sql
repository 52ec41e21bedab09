-- A seed counts once: probes and EMA leave the backbone as it is. Pools are those of losses_by_seed.
CREATE VIEW token_losses AS
SELECT CASE WHEN readout = 'head' THEN backbone ELSE seed_group END AS "group", run, seed, size, rung, residual, layers,
    full_depth, multi_token AS method, layer, readout, ahead, loss,
    CASE WHEN readout = 'head' THEN format('last layer, {}', size)
        ELSE concat_ws(', ', format('layer {} of {} by {}', layer, layers, readout),
            CASE WHEN ahead > 1 THEN format('{} tokens ahead', ahead) END, size) END AS pool
FROM runs
JOIN (SELECT run, layer, readout, 1 AS ahead, loss FROM final_loss UNION ALL BY NAME FROM future) AS readings USING (run)
WHERE present AND readouts IN ('none', 'probes') AND (plain OR changes = 'multi_token_prediction')
QUALIFY row_number() OVER (PARTITION BY "group", seed, layer, readout, ahead ORDER BY readouts, ema, run) = 1;
COMMENT ON VIEW token_losses IS 'What every layer of plain models, and of those that multi-token prediction alone sets apart from them, ends at for the next token and later ones';
COMMENT ON COLUMN token_losses."group" IS 'The runs that it is a seed of, as in losses_by_seed';
COMMENT ON COLUMN token_losses.method IS 'How later tokens are predicted: the form, the number of modules and their weight; null for plain models';
COMMENT ON COLUMN token_losses.layer IS 'The layer, from 1';
COMMENT ON COLUMN token_losses.readout IS 'probe, head for the next token at the last layer, or multi_token for the modules that predict later ones';
COMMENT ON COLUMN token_losses.ahead IS '1 for the next token, 2 for the one after';
COMMENT ON COLUMN token_losses.loss IS 'Final training loss, nats per token';
COMMENT ON COLUMN token_losses.pool IS 'What scatters alike over seeds';
