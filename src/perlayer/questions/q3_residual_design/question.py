from perlayer.questions.question import PublishedClaim, Question

TESTING = "testing, no figure"

QUESTION = Question(
    key="Q3",
    title="Does the residual design change what each layer contributes?",
    background=(
        "Models of different residual designs are trained plain, with probes, which leave them as they are, and with "
        "separate heads, on the same batches; the baseline is Sandwich-LN. What a layer contributes is by how much the "
        "loss read after it lies below that read after the layer before. A claim holds where it holds of every design "
        "and layer."
    ),
    claims=(
        PublishedClaim(
            "probes",
            "By probes, each layer of every design lowers the loss by another amount than in Sandwich-LN",
            TESTING,
        ),
        PublishedClaim(
            "separate",
            "By separate heads, each layer of every design lowers the loss by another amount than in Sandwich-LN",
            TESTING,
        ),
        PublishedClaim("last", "The last layer of every plain design ends apart from that of Sandwich-LN", TESTING),
        PublishedClaim(
            "cost", "Separate heads cost the last layer of every design another amount than Sandwich-LN", TESTING
        ),
    ),
    answers={
        "yes": "Yes: in every design each layer lowers the loss by another amount than in Sandwich-LN.",
        "no": "No: in no design does a layer lower the loss by another amount than in Sandwich-LN.",
        "no effect": "Not everywhere: some layer of some design lowers the loss by as much as in Sandwich-LN.",
        "undecided": "Whether every design changes what each layer contributes takes more seeds.",
        "not run": "Not every design that runs name stands beside Sandwich-LN yet.",
    },
    numbers_title="Final training loss by residual design",
    signed=("last_minus_baseline", "first_minus_baseline", "middle_minus_baseline", "separate_last_minus_baseline"),
    figures=("designs",),
)
