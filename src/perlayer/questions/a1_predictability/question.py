from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="A1",
    title="Can the weights of a layer be predicted from those of its neighbours?",
    background=(
        "Each matrix of a layer is predicted entry by entry from the same matrix of the layers before and after, by "
        "ridge regression on their entries there and on mean and standard deviation of their rows and columns; it is "
        "fitted to half of a sample of entries, and R2 is of the other half: 0 is no better than the mean. Chance is "
        "what the same gives with the entries of a layer shifted against those of its neighbours, 200 times; beside it "
        "stand the weights before training and the layers in other orders. Features, penalty and split are ours, as "
        "the source does not publish its own. Then layers are replaced by their predictions, best predicted first, and "
        "perplexity is measured on held-out text; intervals are of a bootstrap over documents. The claims are about "
        "the baseline, in its run of the lowest seed."
    ),
    claims=(
        PublishedClaim(
            "predicted",
            "Weights of a layer are predicted from its neighbours', better than by chance",
            "R2 0.91",
            "number",
        ),
        PublishedClaim("gate_best", "Those of gate_proj best", "R2 0.909", "number"),
        PublishedClaim(
            "one_replaced",
            "Replacing one layer by its prediction costs perplexity",
            "+16 % (22.60 to 26.22)",
            "log ratio",
        ),
        PublishedClaim(
            "three_of_ten_replaced",
            "Replacing three layers of ten costs more",
            "above 100,000 with 9 of 30 layers",
            "log ratio",
        ),
    ),
    answers={
        "yes": "Neighbours tell more of the weights of a layer than chance does.",
        "no": "The weights of a layer are predicted worse than by chance.",
        "no effect": "Neighbours tell no more of the weights of a layer than chance does.",
        "undecided": "Whether neighbours tell of the weights of a layer lies within what chance gives.",
        "not run": "No finished model of the recipe's depth has been dissected by anatomy yet.",
    },
    numbers_title="R2 of weights predicted from neighbouring layers, beside chance",
    figures=("weight_predictability",),
    signed=("r2", "entries_alone", "before_training", "other_orders", "best_penalty"),
)
