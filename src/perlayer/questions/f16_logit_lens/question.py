from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="F16",
    title="What do lenses read in a finished model, beside the readouts trained with it?",
    background=(
        "A logit lens reads the residual stream after a layer with the final norm and head. A tuned lens trains an "
        "affine map for every layer first, towards the final output. Neither changes the model, and both are read on "
        "held-out text, beside the readouts that the model was trained with and those retrained on its frozen layers."
    ),
    claims=(
        PublishedClaim(
            "above_heads",
            "Below the last layer the baseline's logit lens lies above the separate heads of the run trained with them",
            "+3.688 +4.034 +3.461 +3.026 +0.991 (layers 1 to 5, 130m)",
        ),
        PublishedClaim(
            "falls",
            "Baseline: the loss of its logit lens falls with every layer",
            "9.329 8.784 7.898 7.406 5.351 4.182 (130m)",
        ),
        PublishedClaim(
            "last_two",
            "Baseline: more than half of the fall of its logit lens lies in the last two layers",
            "63 % of 5.147 nats (130m)",
        ),
        PublishedClaim(
            "tuned_closer",
            "Below the last layer the tuned lens lies closer to the output than the logit lens, KL(final || lens)",
            "at every layer (Belrose 2023)",
        ),
    ),
    answers={
        "yes": "Below the last layer a lens reads a plain model far worse than heads read layers trained for them.",
        "no": "A lens reads some layer of a plain model better than heads read one that was trained for them.",
        "no effect": "A lens reads a plain model as well as heads read layers that were trained for them.",
        "undecided": "Whether a lens reads layers worse than heads that were trained with them takes more seeds.",
        "not run": "No lens has read a plain model beside a model with separate heads yet.",
    },
    numbers_title="Held-out loss by layer and readout",
    figures=("lenses", "lens_agreement"),
    published_title="Chai 2026, Quantifying the Per-layer Contribution of LLMs, 130m, Paloma macro loss",
)
