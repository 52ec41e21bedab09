from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q2",
    title="Does a deeper network benefit from supervising its shallow layers?",
    background=(
        "Models of growing depth are trained plain and with a separate head after every layer, on the same batches. "
        "What the last layer ends above the plain model of the same depth is the cost of supervision; below zero it "
        "would be a benefit."
    ),
    claims=(
        PublishedClaim(
            "every_depth",
            "Separate heads: the last layer ends above the plain model of the same depth, at every depth",
            "+0.094 (6 layers, 130m); no figure for another depth",
        ),
    ),
    answers={
        "yes": "No: at every depth tried, the last layer is worse for the heads below it.",
        "no": "Yes: at one depth at least, the last layer is better for the heads below it.",
        "no effect": "No: at one depth at least, the heads below it leave the last layer as it was.",
        "undecided": "Whether heads below it harm the last layer at every depth takes more seeds.",
        "not run": "Models with separate heads do not stand beside plain ones at two depths yet.",
    },
    numbers_title="Final training loss of the last layer by depth",
    signed=("cost", "low", "high"),
    figures=("depth_cost",),
)
