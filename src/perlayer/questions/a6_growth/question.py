from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="A6",
    title="Does training that spends by importance beat uniform training?",
    background=(
        "Growth training goes through stages in which only some layers train, those that matter most longest, and ends "
        "with one in which all do. Stages follow the source's six by relative depth, or the importance (A2) of a "
        "finished model's layers. Beside it stands uniform training on the same data in the same order: at equal "
        "steps, at equal compute, and with about twice the steps. Compute counts an update of the whole model as one; "
        "where layers are frozen, the gradients of their weights are saved. The source's loss of 0.127 is that of a "
        "model which knows a tiny text by heart."
    ),
    claims=(
        PublishedClaim(
            "equal_steps", "Growth ends below uniform training at equal steps", "4.7 times lower loss (0.127 and 0.599)"
        ),
        PublishedClaim("equal_compute", "Growth ends below uniform training at equal compute", "no figure"),
        PublishedClaim(
            "half_the_budget",
            "Growth ends below uniform training with about half the budget",
            "2.1 times lower loss (416 of 656 steps)",
        ),
        PublishedClaim(
            "cheaper", "Growth costs less at equal steps", "13 % faster; about 54 % less (how is not said)", "share"
        ),
    ),
    answers={
        "yes": "Growth training ends below uniform training of as many steps.",
        "no": "Growth training ends above uniform training of as many steps.",
        "no effect": "Growth training ends where uniform training of as many steps does.",
        "undecided": "Whether growth training beats uniform training of as many steps takes more seeds.",
        "not run": "No growth training stands beside uniform training yet.",
    },
    numbers_title="Validation loss of growth training beside uniform training",
    signed=("difference",),
    figures=("growth",),
)
