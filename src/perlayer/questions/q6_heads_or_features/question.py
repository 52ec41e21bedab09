from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q6",
    title="Is the gap in the heads or in the features?",
    background=(
        "Probes read early layers far worse than separate heads do. Either their heads are worse, or what the layers "
        "hold is. So every readout of a finished run, the last norm and head too, is trained once more, from where it "
        "was, on layers that no longer change, and held-out losses are compared before and after."
    ),
    claims=(
        PublishedClaim(
            "features",
            "Retraining closes less than half of the gap between probes and separate heads below the last layer",
            "the gap is in the features (300m)",
        ),
        PublishedClaim(
            "probes_worse",
            "Both retrained: probes read the first half of the layers worse than separate heads",
            "still far worse (300m)",
        ),
        PublishedClaim(
            "probes_barely_move",
            "Probes: retraining moves every layer below the last by less than its gap to the separate heads",
            "the probes barely move (300m)",
        ),
        PublishedClaim(
            "separate_higher",
            "Separate heads: retrained, every layer ends higher than before",
            "slightly higher at every layer (300m)",
        ),
    ),
    answers={
        "yes": "The gap is in the features: heads retrained on finished layers leave more than half of it.",
        "no": "The gap is in the heads: retraining them closes more than half of it.",
        "no effect": "Retraining closes just about half of the gap.",
        "undecided": "Whether the gap is in the heads or in the features takes more seeds that are retrained.",
        "not run": "Probes and separate heads have not both been retrained yet.",
    },
    numbers_title="Held-out loss by layer before and after retraining",
    signed=("probes_change", "separate_change", "gap_before", "gap_after"),
    figures=("retrained_heads", "retraining_curves"),
)
