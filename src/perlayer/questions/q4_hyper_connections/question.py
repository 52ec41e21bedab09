from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q4",
    title="Why does Hyper-Connections pay only half?",
    background=(
        "In every residual design a model is trained plain and with a separate head after every layer, on the same "
        "batches: what its last layer ends higher by is its cost. That a design pays less than Sandwich-LN, the "
        "baseline, is judged; by how much less is not. How streams are mixed is read from a finished model: were the "
        "product of its mixing matrices doubly stochastic, its gains, means over tokens here, would be 1."
    ),
    claims=(
        PublishedClaim(
            "less",
            "Hyper-Connections: separate heads cost the last layer less than they cost the baseline's",
            "about half; testing, no figure",
        ),
        PublishedClaim(
            "pays",
            "Hyper-Connections: with separate heads the last layer ends higher",
            "about half of what the baseline pays; testing",
        ),
    ),
    answers={
        "yes": "Hyper-Connections pays less for separate heads than the baseline.",
        "no": "It does not: Hyper-Connections pays more for separate heads than the baseline.",
        "no effect": "It does not: Hyper-Connections pays as much for separate heads as the baseline.",
        "undecided": "Whether Hyper-Connections pays less than the baseline takes more seeds.",
        "not run": "Hyper-Connections or the baseline has not been trained with and without separate heads yet.",
    },
    numbers_title="What separate heads cost the last layer by residual design",
    signed=("cost", "minus_baseline", "low", "high"),
    figures=("design_cost", "routing"),
    further="The product of the matrices that mix streams has gains of up to {}.",
)
