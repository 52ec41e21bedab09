-- What is said of perplexity is its change in nats, since percents span decades: ln(1 + percent / 100).
CREATE VIEW anatomy_statistics AS
WITH
kinds AS (SELECT run, matrix, avg(r2) AS r2 FROM predictability GROUP BY run, matrix),
predicted AS (
    SELECT run, avg(r2) AS r2, avg(initial) AS r2_initial, avg(shuffled) AS r2_shuffled,
        avg(r2) - avg(initial) AS r2_over_initial, avg(r2) - avg(shuffled) AS r2_over_shuffled
    FROM predictability GROUP BY run
),
gate AS (
    SELECT run, max(r2) FILTER (matrix = 'gate_proj') AS gate_r2,
        gate_r2 - max(r2) FILTER (matrix <> 'gate_proj') AS gate_r2_lead
    FROM kinds GROUP BY run
),
replaced AS (
    SELECT run, max(in_nats(degradation)) FILTER (replaced = 1) AS one_replaced,
        max(in_nats(degradation)) FILTER (replaced = layers) AS all_replaced,
        max(in_nats(degradation)) FILTER (replaced = ceil(0.3 * layers) AND replaced > 1) - one_replaced
            AS third_over_one
    FROM replacements JOIN (SELECT run, max(replaced) AS layers FROM replacements GROUP BY run) USING (run)
    GROUP BY run
),
important AS (
    SELECT run, max(in_nats(degradation)) AS greatest_importance, min(in_nats(degradation)) AS least_importance,
        greatest_importance - least_importance AS importance_range,
        arg_max(layer, degradation)::DOUBLE AS most_important_layer,
        count(*) FILTER (category = 'anti')::DOUBLE AS anti_layers,
        max(in_nats(degradation)) FILTER (2 * layer <= layers) - max(in_nats(degradation)) FILTER (2 * layer > layers)
            AS first_half_lead
    FROM ablations JOIN (SELECT run, max(layer) AS layers FROM ablations GROUP BY run) USING (run)
    WHERE way = 'neighbour_average'
    GROUP BY run
),
manipulated AS (
    SELECT run, kind, avg(in_nats(degradation)) FILTER (abs(strength - 0.1) < 1e-9) AS tenth,
        avg(in_nats(degradation)) FILTER (strength = 1) AS whole
    FROM manipulations GROUP BY run, kind
),
preserved AS (
    SELECT run, max(tenth) FILTER (kind = 'scale') AS scaled,
        min(whole) FILTER (kind <> 'scale') - scaled AS scale_lead,
        min(tenth) FILTER (kind <> 'scale') - scaled AS scale_lead_at_equal_strength
    FROM manipulated GROUP BY run
),
steady AS (
    SELECT run, avg(correlation) AS delta_correlation, avg(initial) AS delta_correlation_initial,
        avg(excess) AS delta_excess
    FROM delta_correlations GROUP BY run
),
components AS (
    SELECT run, avg(explained) AS first_component, avg(excess) AS first_component_excess
    FROM weight_components WHERE components = 1 GROUP BY run
),
recovered AS (SELECT run, rho AS recovery_rank_correlation FROM recovery_orders),
wide AS (
    FROM (SELECT DISTINCT run FROM anatomy_runs)
    LEFT JOIN predicted USING (run)
    LEFT JOIN gate USING (run)
    LEFT JOIN replaced USING (run)
    LEFT JOIN important USING (run)
    LEFT JOIN preserved USING (run)
    LEFT JOIN steady USING (run)
    LEFT JOIN components USING (run)
    LEFT JOIN recovered USING (run)
)
SELECT run, statistic, value FROM (UNPIVOT wide ON * EXCLUDE (run) INTO NAME statistic VALUE value);
COMMENT ON VIEW anatomy_statistics IS 'What the layers of a finished model are made of, in single numbers: one row a run and number';
COMMENT ON COLUMN anatomy_statistics.run IS 'The run, or the published model';
COMMENT ON COLUMN anatomy_statistics.statistic IS 'Means over layers and kinds of matrix of predictability: r2, r2_initial, r2_shuffled, r2_over_initial, r2_over_shuffled; gate_r2 of gate_proj alone, gate_r2_lead over the best other kind. Change of log-perplexity in nats with layers replaced by predictions: one_replaced, all_replaced, third_over_one (three of ten layers minus one). Importance by neighbour_average, in nats: greatest_importance, least_importance, importance_range, first_half_lead (greatest of the first half of the layers minus that of the second); most_important_layer, anti_layers (how many). Manipulation, means over layers in nats: scaled (by 0.9), scale_lead (least other kind at full strength minus that), scale_lead_at_equal_strength. recovery_rank_correlation of recovery steps with importance. Means over layers and kinds of matrix of delta_correlation, delta_correlation_initial, delta_excess; of first_component (share explained) and first_component_excess';
COMMENT ON COLUMN anatomy_statistics.value IS 'The number';
