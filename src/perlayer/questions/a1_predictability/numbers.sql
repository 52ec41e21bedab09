-- R2 of weights predicted from those of neighbouring layers, mean over layers and seeds, by kind of matrix: as they are,
-- from entries alone, before training and with layers in other orders; and the best of all penalties that were tried.
SELECT label AS setup, matrix, avg(r2) AS r2, avg(entries_alone) AS entries_alone, avg(initial) AS before_training,
    avg(shuffled) AS other_orders, avg(best_penalty) AS best_penalty, count(DISTINCT run) AS seeds
FROM predictability JOIN anatomy_runs USING (run)
GROUP BY label, place, matrix
ORDER BY place, list_position(matrices(), matrix)
