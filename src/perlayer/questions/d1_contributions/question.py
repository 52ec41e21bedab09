from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D1",
    title="What does each layer add to the residual stream?",
    background=(
        "On held-out text, the length of what a layer, its attention or its MLP adds to the residual stream is divided "
        "by the length of what it is added to, for every token, then averaged; the cosine between the two says whether "
        "it amplifies (above 0) or erases. Halves leave out layer 1, which builds the residual on a short embedding; a "
        "fall from layer l - 1 to l is at (l - 1) / L of the depth L, and near the middle if that is less than a sixth "
        "from a half; before and after the middle are the second and the third quarter of the depth. The claims are "
        "about the baseline."
    ),
    claims=(
        PublishedClaim(
            "layers",
            "Layers of the second half add less, relative to the residual, than those of the first",
            "much less (figure 2)",
            "log ratio",
        ),
        PublishedClaim("attention", "So does their attention", "much less (figure 2)", "log ratio"),
        PublishedClaim("attention_most", "Attention falls further than the MLP", "yes (figure 2)", "log ratio"),
        PublishedClaim(
            "middle_fall",
            "The greatest fall from one layer to the next is near the middle",
            "sharp, near the middle (figure 2)",
            "log ratio",
        ),
        PublishedClaim(
            "cosine",
            "The cosine with the residual turns from below 0 to above it at the middle",
            "a sharp switch (figure 2)",
            "number",
        ),
    ),
    answers={
        "yes": "Layers of the second half add less to the residual than those of the first.",
        "no": "Layers of the second half add more to the residual than those of the first.",
        "no effect": "Layers of both halves add as much to the residual.",
        "undecided": "Whether layers of the second half add less takes more seeds.",
        "not run": "No finished model of the recipe's depth has shown yet how it uses its depth.",
    },
    numbers_title="What the second half of the layers adds over the first, and where it falls",
    figures=("contributions",),
    signed=("cosine_before", "cosine_after"),
)
