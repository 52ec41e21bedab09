from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="A4",
    title="Which manipulations of weights does a model survive?",
    background=(
        "The weights of the least important layers (A2) go part of the way to others: to zero, so that a tenth is "
        "scaling by 0.9, to themselves plus noise, to the mean of the neighbours, to a copy of a neighbour, to what "
        "neighbours predict (A1), and to random weights, the floor. The source compares scaling by 0.9 with four "
        "others that it does not name; those and their strengths are ours, and at a tenth of the way all are alike in "
        "strength. Perplexity is that of held-out text, with intervals of a bootstrap over documents. The claims are "
        "about the baseline, in its run of the lowest seed."
    ),
    claims=(
        PublishedClaim(
            "scaling",
            "Every other manipulation costs more than scaling by 0.9",
            "+19 %; the other four up to millions of %",
            "log ratio",
        ),
    ),
    answers={
        "yes": "Scaling by 0.9 harms least of all manipulations.",
        "no": "Another manipulation harms less than scaling by 0.9.",
        "no effect": "Another manipulation harms as little as scaling by 0.9.",
        "undecided": "Whether scaling by 0.9 harms least of all manipulations takes more text.",
        "not run": "No layer of a finished model of the recipe's depth has been manipulated yet.",
    },
    numbers_title="By how many percent perplexity rises with manipulated weights",
    figures=("manipulations",),
    signed=("a_tenth", "half", "all_the_way", "low", "high"),
)
