-- What the claims of all questions share.

-- A difference in nats, with its sign.
CREATE MACRO signed(difference) AS format('{:+.3f}', round(difference, 3) + 0.0);

-- Whether differences that a claim says are above 0 are: one below 0 by more than its noise denies it, and one that is
-- above by less leaves it within noise.
CREATE MACRO judged(differences, noises) AS
    CASE WHEN list_bool_or(list_transform(list_zip(differences, noises), lambda pair: pair[1] < -pair[2])) THEN 'no'
        WHEN list_bool_and(list_transform(list_zip(differences, noises), lambda pair: pair[1] > pair[2])) THEN 'yes'
        ELSE 'within noise' END;

-- The layers that numbers are of, in brackets after them; nothing for null.
CREATE MACRO of_layers(layers) AS
    CASE WHEN layers IS NULL THEN ''
        WHEN len(layers) = 1 THEN format(' (layer {})', layers[1])
        WHEN len(layers) > 2 AND layers[-1] - layers[1] = len(layers) - 1
            THEN format(' (layers {} to {})', layers[1], layers[-1])
        ELSE ' (layers ' || array_to_string(layers, ', ') || ')' END;
