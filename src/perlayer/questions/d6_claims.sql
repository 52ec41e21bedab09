SELECT 1 AS position, 'Layers at the same relative depth map best from a shallow to a deep model' AS quantity,
    'a clear diagonal (figure 8)' AS published, NULL::VARCHAR AS measured, 'no run' AS holds
