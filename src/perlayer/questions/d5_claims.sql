SELECT position, quantity, published, NULL::VARCHAR AS measured, 'no run' AS holds
FROM (VALUES
    (1, 'The depth score does not grow with difficulty', 'flat over levels 1 to 5 of MATH (figure 7)'),
    (2, 'It does not grow with the number of hops', 'flat over 2 to 4 hops of MQuAKE (figure 7)')
) AS published (position, quantity, published)
ORDER BY position
