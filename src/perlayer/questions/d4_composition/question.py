from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D4",
    title="Are later steps of a computation done in deeper layers?",
    background=(
        "Residual erasure replaces the residual of one token after one layer by its mean: how far does the prediction "
        "of the answer move? Integrated gradients share the probability of the answer out among tokens. A token "
        "matters until the last layer at which its effect, or its absolute share, is at least half of what it is at "
        "most. Where a model composes, later operands matter until deeper layers. Texts are held-out windows, whose "
        "last tokens stand for an answer, so that tokens stand for operands; the first token that the answer sees and "
        "those that predict it are left out. AttnRes has no one residual that could be replaced, and is not shown. A "
        "change along the text of less than a sixth of the depth, by least squares, is none, and the middle is less "
        "than a sixth away from a half. The claims are about the baseline."
    ),
    claims=(
        PublishedClaim(
            "erasure_flat",
            "By residual erasure, the layer until which a token matters is the same along the text",
            "no sign of composition (figure 6)",
            "layers",
        ),
        PublishedClaim(
            "erasure_middle",
            "By residual erasure, tokens matter until about the middle",
            "until mid-depth (figure 6)",
            "layers",
        ),
        PublishedClaim(
            "attribution_flat",
            "By integrated gradients, the layer until which a token matters is the same along the text",
            "no sign of composition (figure 6)",
            "layers",
        ),
    ),
    answers={
        "yes": "Later tokens matter until no deeper layer: no sign of composition.",
        "no": "The layer until which a token matters changes along the text.",
        "no effect": "Later tokens matter until no deeper layer: no sign of composition.",
        "undecided": "Whether later tokens matter until deeper layers takes more seeds.",
        "not run": "No token has been looked at alone yet: recipes.SIZE.depth.texts says in how many texts.",
    },
    numbers_title="Until which layer tokens matter, and how much deeper later ones do",
    figures=("erasure", "integrated_gradients"),
    signed=("erasure_rise", "attribution_rise"),
)
