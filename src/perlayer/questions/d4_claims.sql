SELECT position, quantity, published, NULL::VARCHAR AS measured, 'no run' AS holds
FROM (VALUES
    (1, 'By residual erasure, later operands matter until no deeper layer', 'no sign of composition (figure 6)'),
    (2, 'By integrated gradients, later operands matter until no deeper layer', 'no sign of composition (figure 6)')
) AS published (position, quantity, published)
ORDER BY position
