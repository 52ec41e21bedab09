-- Training loss is taken while layers are skipped where layers are dropped, which is no measure of the finished model:
-- such a run is held out, and so is what it stands beside.
CREATE VIEW costs AS
WITH last AS (
    SELECT run, layer, loss, 'train' AS measured_on FROM final_loss WHERE readout = 'head'
    UNION ALL
    SELECT run, layer, loss, 'held out' FROM held_out WHERE readout = 'head'
),
seeds AS (
    SELECT backbone, seed, measured_on, avg(loss) AS loss
    FROM recipe_runs JOIN last USING (run) WHERE present AND layer = layers GROUP BY ALL
),
means AS (SELECT backbone, measured_on, avg(loss) AS loss, count(*) AS seeds FROM seeds GROUP BY ALL),
subjects AS (
    SELECT DISTINCT seed_group AS run, baseline,
        CASE WHEN layer_dropout <> 'none' THEN 'held out' ELSE 'train' END AS measured_on
    FROM recipe_runs WHERE NOT plain
)
SELECT run, baseline, subjects.measured_on, mine.seeds, mine.loss, plain.loss AS baseline_loss, mine.loss - plain.loss AS cost
FROM subjects
JOIN means AS mine ON mine.backbone = run AND mine.measured_on = subjects.measured_on
LEFT JOIN means AS plain ON plain.backbone = baseline AND plain.measured_on = subjects.measured_on;
COMMENT ON VIEW costs IS 'What every group of runs that is not plain costs the last layer beside its depth-matched baseline: means over seeds';
COMMENT ON COLUMN costs.run IS 'The group, named after its run of the lowest seed';
COMMENT ON COLUMN costs.measured_on IS 'By which loss of the last layer: train, the final training loss, or held out where layers are dropped in training';
COMMENT ON COLUMN costs.seeds IS 'How many seeds it has';
COMMENT ON COLUMN costs.loss IS 'Loss of its last layer, nats per token';
COMMENT ON COLUMN costs.baseline_loss IS 'That of the baseline; null where it has not been trained';
COMMENT ON COLUMN costs.cost IS 'The first minus the second';
