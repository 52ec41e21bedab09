-- Layer 1 is left out: it builds the residual on an embedding that is far shorter, so its contribution is many times
-- what it is added to, and would outweigh all others. The middle layer of an odd number belongs to neither half. A fall
-- from layer l - 1 to l is at (l - 1) / L of the depth L; near the middle is less than a sixth of the depth from a
-- half.
CREATE VIEW contribution_drops AS
WITH places AS (
    SELECT run, sublayer, layer, relative_contribution AS share, max(layer) OVER all_layers AS layers,
        1 - relative_contribution / lag(relative_contribution) OVER (all_layers ORDER BY layer) AS fall
    FROM contributions
    WHERE layer > 1
    WINDOW all_layers AS (PARTITION BY run, sublayer)
),
found AS (
    SELECT *, CASE WHEN 2 * layer <= layers THEN 1 WHEN 2 * (layers - layer + 1) <= layers THEN 2 END AS half,
        3 * abs(2 * (layer - 1) - layers) < layers AS near_middle
    FROM places
)
SELECT run, sublayer, any_value(layers) AS layers,
    avg(share) FILTER (half = 1) AS first_half, avg(share) FILTER (half = 2) AS second_half,
    avg(share) FILTER (half = 2) / avg(share) FILTER (half = 1) AS ratio,
    max_by(layer, fall) AS steepest_layer, CASE WHEN max(fall) > 0 THEN steepest_layer END AS drop_layer,
    max(fall) AS drop_share, max(fall) FILTER (near_middle) AS middle_drop,
    max(fall) FILTER (NOT near_middle) AS other_drop
FROM found
GROUP BY run, sublayer;
COMMENT ON VIEW contribution_drops IS 'How much less the second half of the layers of a finished model adds than the first, and where what layers add falls most';
COMMENT ON COLUMN contribution_drops.sublayer IS 'attention or mlp; null for whole layers';
COMMENT ON COLUMN contribution_drops.first_half IS 'Mean relative contribution of the first half of the layers, without layer 1; the middle one of an odd number is in neither half';
COMMENT ON COLUMN contribution_drops.second_half IS 'The same of the second half';
COMMENT ON COLUMN contribution_drops.ratio IS 'second_half over first_half: below 1 the second half adds less';
COMMENT ON COLUMN contribution_drops.steepest_layer IS 'The layer whose relative contribution lies farthest below that of the layer before, or least above it; from layer 3 on';
COMMENT ON COLUMN contribution_drops.drop_layer IS 'The same; null where none lies below';
COMMENT ON COLUMN contribution_drops.drop_share IS 'By which share it lies below; not above 0 where none does';
COMMENT ON COLUMN contribution_drops.middle_drop IS 'The greatest such share at layers that begin less than a sixth of the depth from the middle; null without any';
COMMENT ON COLUMN contribution_drops.other_drop IS 'The greatest such share at all other layers; null without any';
