from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="A2",
    title="How important is each layer?",
    background=(
        "A layer is taken away, and importance is by how many percent perplexity on held-out text rises. As in the "
        "source its weights become the mean of its neighbours' weights; the first and the last layer have one "
        "neighbour, which is ours. Beside it the layer, its attention or its MLP gives nothing to the residual, or its "
        "mean over tokens. Intervals are of a bootstrap over documents. Categories (ours) are critical from +100 %, "
        "important from +20 %, minor from +2 %, redundant below, and anti below -0.5 % where the 95 % interval "
        "excludes 0. The claims are about the baseline, in its run of the lowest seed."
    ),
    claims=(
        PublishedClaim(
            "span",
            "The greatest importance is ten times the least and more",
            "10^7: -0.6 % (L17) to +63,419 % (L11)",
            "log ratio",
        ),
        PublishedClaim("first_half", "The most important layer is one of the first half", "L11 of L0 to L29", "share"),
        PublishedClaim("harm", "Some layers do harm", "L14 and L17, about -0.6 %", "log ratio"),
    ),
    answers={
        "yes": "The importance of layers spans more than a factor of ten.",
        "no": "The importance of layers spans less than a factor of ten.",
        "no effect": "The importance of layers spans a factor of ten.",
        "undecided": "Whether the importance of layers spans a factor of ten takes more text.",
        "not run": "No finished model of the recipe's depth has been dissected by anatomy yet.",
    },
    numbers_title="By how many percent perplexity rises without a layer",
    figures=("layer_importance",),
    signed=("neighbour_average", "low", "high", "skipped", "attention_skipped", "mlp_skipped", "mean_ablated"),
    published_title="Wietrzykowski 2026: SmolLM2-135M, 10 sentences, layers from 0, percent",
)
