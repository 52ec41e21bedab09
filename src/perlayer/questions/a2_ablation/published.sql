-- SmolLM2-135M, 30 layers, from 0 as the source counts them; by how many percent perplexity rises. Categories as that
-- table uses them.
SELECT *, CASE WHEN degradation >= 115 THEN 'critical' WHEN degradation >= 66 THEN 'important'
    WHEN degradation >= 11 AND layer <> 'L3' THEN 'minor' ELSE 'redundant' END AS category
FROM (VALUES
    ('L0', 0.0), ('L1', 2737.1), ('L2', 186.0), ('L3', 13.4), ('L4', 22.7), ('L5', 8.3), ('L6', 9.4), ('L7', 20.3),
    ('L8', 2395.6), ('L9', 378.1), ('L10', 9870.7), ('L11', 63419.2), ('L12', 6.3), ('L13', 24.4), ('L14', 5.0),
    ('L15', 11.1), ('L16', 20.3), ('L17', -0.6), ('L18', 16.9), ('L19', 2.6), ('L20', 25.9), ('L21', 23.5),
    ('L22', 27.8), ('L23', 66.6), ('L24', 115.2), ('L25', 23.2), ('L26', 19.4), ('L27', 134.8), ('L28', 211.5),
    ('L29', 0.0)
) AS published (layer, degradation)
