from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q1",
    title="How much does each layer contribute, read passively and trained actively?",
    background=(
        "A layer is judged by its final training loss, the mean over the last 50 steps of the next-token loss read "
        "after it. Probes read a plain model without touching it; separate and shared heads train every layer to "
        "predict. The measure is the depth-matched baseline: a plain model with as many layers, trained in the same "
        "way on the same batches."
    ),
    claims=(
        PublishedClaim(
            "probes_early",
            "Probes: the first half of the layers ends above the depth-matched baselines",
            "+1.100 +0.799 (layers 2, 3)",
        ),
        PublishedClaim(
            "depth", "Baselines: every further layer lowers the loss", "3.971 3.543 3.417 3.343 3.294 3.260"
        ),
        PublishedClaim("probes_close", "Probes: the gap closes only at the last layer", "+0.209 -0.003 (layers 5, 6)"),
        PublishedClaim(
            "separate_every",
            "Separate heads: every layer ends above its depth-matched baseline",
            "+0.07 to +0.17 (layers 1 to 6)",
        ),
        PublishedClaim("separate_middle", "Separate heads: the gap is smallest in the middle layers", "middle layers"),
        PublishedClaim(
            "separate_shallower",
            "Separate heads: the last layer ends above the baseline two layers shallower",
            "above the model of 4 layers",
        ),
        PublishedClaim(
            "shared_every",
            "Shared head: every layer ends above its depth-matched baseline",
            "+0.126 +0.088 +0.093 +0.112 +0.132 (layers 2 to 6)",
        ),
        PublishedClaim(
            "separate_cost", "Separate heads: the last layer ends above the baseline", "+0.094 (steps 2000 to 4960)"
        ),
        PublishedClaim(
            "shared_cost",
            "Shared head: the last layer ends above the baseline",
            "+0.114 (steps 2000 to 4960), +0.132 at the end",
        ),
        PublishedClaim(
            "shared_stop_gradient_cost",
            "Shared head with stop-gradient: the last layer ends above the baseline",
            "+0.128 (steps 2000 to 4960)",
        ),
        PublishedClaim(
            "order",
            "The last layer costs least with separate heads, more with a shared head, most with stop-gradient",
            "+0.094 < +0.114 < +0.128",
        ),
    ),
    answers={
        "yes": "Read passively, early layers predict far worse than a plain model of their depth.",
        "no": "Read passively, an early layer predicts better than a plain model of its depth.",
        "no effect": "Read passively, early layers predict as well as a plain model of their depth.",
        "undecided": "Whether early layers predict worse than a plain model of their depth takes more seeds.",
        "not run": "No run with probes stands beside plain models of each depth yet.",
    },
    numbers_title="Final training loss by layer",
    published_title="Chai 2026, Quantifying the Per-layer Contribution of LLMs, 130m",
    figures=("final_loss_by_layer", "layer_curves", "last_layer_curves", "noise_floor"),
)
