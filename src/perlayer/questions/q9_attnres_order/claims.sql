-- That AttnRes scrambles is published as still being tested, without a figure. A model is not ordered by depth when the
-- held-out loss read after some layer lies above that read after the layer before; how far it departs is said by
-- Kendall's tau of layer and loss, beside how likely no more pairs of layers rise in a random order.
--
-- What counts as noise in a step from layer to layer, a mean over seeds, is in view depth_steps: three standard errors,
-- pooled over the designs with several seeds, and for lenses never less than three standard errors over held-out
-- sequences. One rise by more than the noise is enough to say that a model is not ordered; where every layer falls by
-- more than the noise, it is; else it is within noise, and the steps that are too small are named. Without seeds that
-- tell the noise nothing is beyond it.
WITH
published (position, quantity, published) AS (VALUES
    (1, 'AttnRes full: probes are not ordered by depth', 'testing, no figure'),
    (2, 'AttnRes full: the logit lens is not ordered by depth', 'testing, no figure'),
    (3, 'AttnRes block: probes are not ordered by depth', 'testing, no figure'),
    (4, 'AttnRes block: the logit lens is not ordered by depth', 'testing, no figure'),
    (5, 'Baseline: probes fall with every layer', '4.643 4.216 3.941 3.503 3.257 (layers 2 to 6, 130m, training loss)')
),
measured AS (
    SELECT CASE residual WHEN 'attnres_full' THEN 1 WHEN 'attnres_block' THEN 3 ELSE 5 END
            + CASE readout WHEN 'logit_lens' THEN 1 ELSE 0 END AS position,
        format('tau {:+.2f}, {} of {} pairs rise (p = {:.2g})', tau, rising, pairs, p)
            || CASE WHEN NOT noise_known THEN '; noise not known' ELSE '' END
            || CASE WHEN rises IS NOT NULL THEN '; rises beyond the noise' || of_layers(rises)
                WHEN unclear IS NOT NULL THEN '; within the noise' || of_layers(unclear) ELSE '' END AS measured,
        CASE WHEN residual = 'sandwich' THEN falls
            ELSE CASE falls WHEN 'yes' THEN 'no' WHEN 'no' THEN 'yes' ELSE falls END END AS holds
    FROM depth_order
    WHERE residual IN ('attnres_full', 'attnres_block') AND readout IN ('probes', 'logit_lens')
        OR residual = 'sandwich' AND readout = 'probes'
)
SELECT position, quantity, published, measured, coalesce(holds, 'no run') AS holds
FROM published LEFT JOIN measured USING (position)
ORDER BY position
