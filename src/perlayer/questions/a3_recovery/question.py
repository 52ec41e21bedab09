from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="A3",
    title="Do layers that matter more take longer to recover?",
    background=(
        "Noise of half the standard deviation of each matrix, unless params.yaml says otherwise, is added to attention "
        "and MLP of one layer. Then that layer alone is trained until perplexity on held-out text is nearly that of "
        "the untouched model again, or a cap is reached; of layers that are not back, those of which more remains "
        "count as later. Importance is that of A2. The noise formula, AdamW, its rate and when a layer counts as "
        "recovered are ours, as the source does not publish its own. The claim is about the baseline, over its seeds."
    ),
    claims=(
        PublishedClaim(
            "order",
            "Layers that matter more take longer to recover",
            "yes; L8 and L11 take 200 updates, L14 none",
            "number",
        ),
    ),
    answers={
        "yes": "Layers that matter more take longer to recover.",
        "no": "Layers that matter more recover sooner.",
        "no effect": "How long a layer takes to recover has nothing to do with how much it matters.",
        "undecided": "Whether layers that matter more take longer to recover takes more seeds.",
        "not run": "No layer of a finished model of the recipe's depth has been trained back yet.",
    },
    numbers_title="Recovery of every layer beside its importance",
    figures=("recovery",),
    signed=("importance", "perturbation", "remaining"),
)
