from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="A5",
    title="Do weights change from layer to layer in a pattern?",
    background=(
        "For each kind of matrix, the change of its weights from one layer to the next is correlated with the change "
        "after that. The null is not 0: independent layers of equal variance give exactly -0.50, as both changes hold "
        "the layer between them with opposite signs, and layers of unequal ones what follows from their variances. "
        "Claims are judged on a sample of entries beside 200 random controls: the entries of one change are shifted "
        "against those of the next, or those of every layer against those of its neighbours. Principal components are "
        "those of the layers as points, beside independent normal draws of the same norms, since independent layers "
        "spread alike in all directions. Both stand beside the model before training. The claims are about the "
        "baseline, in its run of the lowest seed."
    ),
    claims=(
        PublishedClaim(
            "structure",
            "Consecutive changes of weights correlate below what independent layers give",
            "-0.50, which is what independent layers give",
            "number",
        ),
        PublishedClaim("negative", "They correlate below 0", "about -0.50 in all components", "number"),
    ),
    answers={
        "yes": "Neighbouring layers alternate more than independent ones would.",
        "no": "Neighbouring layers are more alike than independent ones would be.",
        "no effect": "Weights change from layer to layer as those of independent layers would.",
        "undecided": "Whether weights change in a pattern lies within what independent layers give.",
        "not run": "No finished model of the recipe's depth has been dissected by anatomy yet.",
    },
    numbers_title="Correlation of consecutive changes of weights, and first principal component, beside their nulls",
    figures=("weight_structure",),
    signed=("correlation", "before_training", "independent", "from_independent", "component_from_independent"),
)
