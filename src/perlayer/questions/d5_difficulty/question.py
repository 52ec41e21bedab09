from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D5",
    title="Do harder problems use deeper layers?",
    background=(
        "The depth score is the mean layer, weighted by what skipping it changes at future tokens: in the "
        "contributions of later layers, or in predictions. On problems of growing difficulty it would grow if harder "
        "ones were solved in deeper layers. Problems come in groups of one difficulty: sums of more and more operands, "
        "and, where params.yaml names their files, levels of MATH and hops of MQuAKE; what is skipped stands before a "
        "split of the answer, and what is looked at are the answer's tokens from there on and predictions made at "
        "them: never of its first token, and where that is its only one, of what would follow it. A line through the "
        "groups says by how much the score grows, flat is less than a twentieth of the depth. Models that cannot solve "
        "a problem have a depth score on it all the same, which says less. On held-out text the score says which "
        "layers the future of a text rests on; one layer of six that alone mattered would give its own number. "
        "Effective depths mark the layers at which the model turns to predicting. The claims are about the baseline, "
        "all of whose seeds read the same problems; pretrained models stand beside it with standard errors over "
        "problems."
    ),
    claims=(
        PublishedClaim(
            "difficulty",
            "The depth score is flat over difficulty",
            "flat over levels 1 to 5 of MATH (figure 7)",
            "layers",
        ),
        PublishedClaim(
            "hops", "It is flat over the number of hops", "flat over 2 to 4 hops of MQuAKE (figure 7)", "layers"
        ),
    ),
    answers={
        "yes": "Harder problems use no deeper layers.",
        "no": "How deep a model computes changes with difficulty.",
        "no effect": "Harder problems use no deeper layers.",
        "undecided": "Whether harder problems use deeper layers takes more seeds.",
        "not run": "No problems of known difficulty have been read yet.",
    },
    numbers_title="Depth scores on held-out text, and what they grow by with difficulty",
    figures=("depth_by_group", "depth_scores"),
    signed=("growth", "output_growth"),
)
