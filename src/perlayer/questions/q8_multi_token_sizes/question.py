from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q8",
    title="Does multi-token prediction help at larger sizes?",
    background=(
        "At every size models are trained with and without one module that predicts the token after next (the form of "
        "DeepSeek-V3, weight 0.3), on the same batches. What is compared is the next-token loss of the last layer, "
        "with minus without: below zero it helps. It is the mean over the last 50 updates at every size: of a training "
        "of a few hundred that is a large share, over which the loss still falls. The sizes are the recipe in use and "
        "the rungs of params.yaml; how many parameters and training tokens each has, the table says."
    ),
    claims=(
        PublishedClaim(
            "larger_gain",
            "Larger sizes gain more: the largest size's difference minus the smallest's is below 0",
            "larger models gain more (Gloeckle 2024); testing, no figure",
        ),
        PublishedClaim(
            "no_gain",
            "No size gains: the last layer ends above the plain model's, not below",
            "models up to about 1B do not gain (Gloeckle 2024)",
        ),
    ),
    answers={
        "yes": "The largest model here gains more from multi-token prediction, or loses less, than the smallest.",
        "no": "The largest model here gains less from multi-token prediction, or loses more, than the smallest.",
        "no effect": "The largest model here and the smallest gain alike from multi-token prediction.",
        "undecided": "Whether larger models gain more from multi-token prediction takes more seeds.",
        "not run": "Models with multi-token prediction do not stand beside plain ones at two sizes yet.",
    },
    numbers_title="Final training loss of the last layer without and with multi-token prediction, by size",
    signed=("difference",),
    figures=("multi_token_sizes",),
)
