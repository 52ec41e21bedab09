from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D2",
    title="Which layers matter for later layers, and for tokens to come?",
    background=(
        "A layer is skipped: it gives nothing to the residual, and all later layers work on. Its effect on a later "
        "layer is how far that one's contribution changes, relative to its length; its effect on the output is the "
        "distance between the distributions of the next token. All tokens: skipped and looked at everywhere but at the "
        "first token of a text. Future tokens: skipped before a split and looked at from there on, so that only what "
        "attention carries forward counts. Local: as if that later layer alone read the change. Means over tokens; "
        "halves leave out layer 1, without which hardly a residual is left, and the last layer, which can change "
        "nothing at future tokens. The claims are about the baseline."
    ),
    claims=(
        PublishedClaim(
            "future_tokens",
            "Skipping layers of the second half changes predictions of future tokens less than of the first",
            "barely (figure 17)",
            "log ratio",
        ),
        PublishedClaim(
            "later_layers", "It changes later layers less at future tokens", "barely (figure 3)", "log ratio"
        ),
        PublishedClaim(
            "future_share",
            "A smaller share of what it changes in predictions reaches future tokens",
            "yes (figure 17)",
            "log ratio",
        ),
    ),
    answers={
        "yes": "Layers of the second half matter less for tokens to come than those of the first.",
        "no": "Layers of the second half matter more for tokens to come than those of the first.",
        "no effect": "Layers of both halves matter as much for tokens to come.",
        "undecided": "Whether layers of the second half matter less for tokens to come takes more seeds.",
        "not run": "No finished model of the recipe's depth has shown yet how it uses its depth.",
    },
    numbers_title="What skipping a layer changes, second half over first",
    figures=(
        "skip_effects",
        "depth_profile",
    ),
)
