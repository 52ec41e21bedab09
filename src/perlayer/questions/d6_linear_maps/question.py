from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D6",
    title="Does a deeper model stretch the layers of a shallow one, or compute further?",
    background=(
        "A linear map is fitted from the residual after every layer of one model to that after every layer of another, "
        "on training text; its error on held-out text is relative to the length of the residual. Where layers at the "
        "same relative depth map best, the deeper model does the same in smaller steps. Two models of one depth that "
        "differ in their seed show how clear a diagonal can be. Chance takes each layer as equally likely to map best. "
        "That is counted as if what maps best onto one layer said nothing of what maps best onto the next; neighbours "
        "are alike, so that the interval is rather too narrow. The claim is about two plain models of one design. "
        "Embeddings are left out, as in the source."
    ),
    claims=(
        PublishedClaim(
            "diagonal",
            "Layers at the same relative depth map best from a shallow to a deep model: nearer to it than by chance",
            "a clear diagonal (figure 8)",
            "share",
        ),
    ),
    answers={
        "yes": "A deeper model stretches the layers of a shallow one: those at the same relative depth map best.",
        "no": "Layers at the same relative depth map onto each other worse than others.",
        "no effect": "Which layer maps best has nothing to do with relative depth.",
        "undecided": "Whether layers at the same relative depth map best cannot be told from chance.",
        "not run": "No pair of models has been mapped onto each other yet.",
    },
    numbers_title="How far from the same relative depth the layers that map best are",
    figures=("linear_maps",),
)
