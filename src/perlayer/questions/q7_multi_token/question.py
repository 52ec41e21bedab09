from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q7",
    title="Does multi-token prediction change what each layer knows?",
    background=(
        "A module after the last layer predicts the token after next while the model trains, as in DeepSeek-V3: it "
        "reads the last layer and the embedding of the next token, and its loss trains the model with weight 0.3. "
        "Probes on every layer say what it knows of the next token and of the token after next, with and without that "
        "module, on the same batches; the next token is read at the last layer by the model's own head. Below zero, a "
        "layer knows more with multi-token prediction. No direction was published: a change to either side counts."
    ),
    claims=(
        PublishedClaim(
            "next_below", "Next token: layers below the last change, on average", "answered (130m), no figure"
        ),
        PublishedClaim("next_last", "Next token: the last layer changes", "answered (130m), no figure"),
        PublishedClaim(
            "after_below", "Token after next: layers below the last change, on average", "answered (130m), no figure"
        ),
        PublishedClaim("after_last", "Token after next: the last layer changes", "answered (130m), no figure"),
    ),
    answers={
        "yes": "Multi-token prediction changes what layers below the last know of the next token.",
        "no": "Multi-token prediction does not change what layers below the last know of the next token.",
        "no effect": "What layers below the last know of the next token stays as it is with multi-token prediction.",
        "undecided": "Whether multi-token prediction changes what layers below the last know takes more seeds.",
        "not run": "No model with multi-token prediction stands beside a plain model with probes yet.",
    },
    numbers_title="Final training loss by layer without and with multi-token prediction",
    signed=("difference",),
    figures=("future_layers",),
    further="The module ends at {} the probe on the last layer of the same models.",
)
