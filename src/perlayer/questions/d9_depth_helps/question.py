from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D9",
    title="Does depth help?",
    background=(
        "Ordinary least squares of the final training loss of plain models on the binary logarithms of depth and "
        "width: a coefficient is what a doubling changes. Models of the size in use have one width and see the same "
        "tokens; those of the rungs grow in depth, width and tokens together, so that what tokens bring is in both "
        "coefficients. Width is told by the parameters of a layer, which grow with its square. The interval is that of "
        "the regression: it covers how runs scatter around the line."
    ),
    claims=(
        PublishedClaim("one_width", "Depth helps at one width", "yes, p < 0.0001 (132 open models, beside widths)"),
        PublishedClaim("beside_width", "Depth helps beside width", "yes, p < 0.0001 (132 open models)"),
    ),
    answers={
        "yes": "Depth helps: of models of one width those with more layers end lower.",
        "no": "Depth hurts: of models of one width those with more layers end higher.",
        "no effect": "Depth changes nothing: models of one width end alike whatever their number of layers.",
        "undecided": "Whether depth helps takes more plain models.",
        "not run": "There are no plain models of two depths yet.",
    },
    numbers_title="What a doubling of depth and of width adds to the loss",
    signed=("by_depth", "by_width"),
    figures=("depth_and_width",),
)
