-- What counts as noise in a cost: three standard errors of a mean over pairs, by the standard deviation of one pair that
-- all designs with several pairs give together, two degrees of freedom at least; with fewer than three pairs never less
-- than the spread of plain runs, the design's own or, without one, that of the sandwich design. Costs of two designs
-- share no run, so the noise of their difference, and of their quotient, is the root of the sum of both squares.
CREATE VIEW design_costs AS
WITH floors AS (SELECT residual, max(spread) AS floor FROM noise_floor WHERE readout = 'head' GROUP BY residual),
costs AS (
    SELECT separate.residual, min_by(separate.run, separate.seed) AS run, any_value(separate.layers) AS layers,
        count(*) AS seeds, avg(plain.loss) AS plain, avg(separate.loss) AS separate,
        avg(separate.loss - plain.loss) AS cost,
        coalesce(var_samp(separate.loss - plain.loss), 0) * (count(*) - 1) AS squares
    FROM design_losses AS separate JOIN design_losses AS plain USING (residual, seed, layer)
    WHERE separate.readouts = 'separate' AND plain.readouts = 'probes' AND layer = separate.layers
        AND separate.value_residual IS NULL AND plain.value_residual IS NULL
    GROUP BY separate.residual
),
pairs AS (SELECT CASE WHEN sum(seeds - 1) >= 2 THEN sqrt(sum(squares) / sum(seeds - 1)) END AS pair_std FROM costs),
noises AS (
    SELECT costs.* EXCLUDE (squares),
        greatest(CASE WHEN seeds < 3 THEN coalesce(own.floor, sandwich.floor) END, 3 * pair_std / sqrt(seeds)) AS noise, pair_std
    FROM costs
    CROSS JOIN pairs
    LEFT JOIN floors AS own USING (residual)
    LEFT JOIN floors AS sandwich ON sandwich.residual = 'sandwich'
)
SELECT mine.*,
    CASE WHEN mine.residual <> 'sandwich' THEN sandwich.cost - mine.cost END AS less,
    CASE WHEN mine.residual <> 'sandwich' THEN sqrt(mine.noise ** 2 + sandwich.noise ** 2) END AS less_noise,
    CASE WHEN sandwich.cost > sandwich.noise THEN mine.cost / sandwich.cost END AS fraction,
    CASE WHEN mine.residual <> 'sandwich' AND sandwich.cost > sandwich.noise
        THEN sqrt(mine.noise ** 2 + (mine.cost / sandwich.cost * sandwich.noise) ** 2) / sandwich.cost END
        AS fraction_noise
FROM noises AS mine LEFT JOIN noises AS sandwich ON sandwich.residual = 'sandwich';
COMMENT ON VIEW design_costs IS 'What separate heads cost the last layer of a residual design, beside what they cost the sandwich design';
COMMENT ON COLUMN design_costs.residual IS 'The residual design';
COMMENT ON COLUMN design_costs.run IS 'Its run with separate heads of the lowest seed';
COMMENT ON COLUMN design_costs.layers IS 'How many layers the models have';
COMMENT ON COLUMN design_costs.seeds IS 'How many pairs of one seed, with separate heads and plain';
COMMENT ON COLUMN design_costs.plain IS 'Mean over them of the final training loss of the last layer without, nats per token';
COMMENT ON COLUMN design_costs.separate IS 'The same with separate heads';
COMMENT ON COLUMN design_costs.cost IS 'The second minus the first';
COMMENT ON COLUMN design_costs.noise IS 'What counts as noise in the cost; null where no seeds tell';
COMMENT ON COLUMN design_costs.pair_std IS 'Standard deviation of one pair over seeds, pooled over the designs that have several; null where those are too few';
COMMENT ON COLUMN design_costs.less IS 'How much less that is than what the sandwich design pays; null for that itself';
COMMENT ON COLUMN design_costs.less_noise IS 'What counts as noise in that: the root of the sum of both squares';
COMMENT ON COLUMN design_costs.fraction IS 'The cost as a share of what the sandwich design pays; null where that is no more than noise';
COMMENT ON COLUMN design_costs.fraction_noise IS 'What counts as noise in that share, to first order; null for the sandwich design itself';
