from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="Q5",
    title="Why does supervising shallow layers hurt the final performance?",
    background=(
        "Four fixes of separate heads ask why: layer losses that weigh one in all; each loss training its own layer "
        "alone; both; weights that rise with depth, without and with gradient surgery, which cuts at every token what "
        "opposes the gradient from above. Beside them stand a shared head that is switched off early and three "
        "published supervisions. Where layers are dropped in training, training loss is no measure of the "
        "finished model: such a run is judged by held-out loss. Gradients are compared while runs train, over all "
        "layers: those of all layer losses summed with that of the final loss, for the baseline counterfactually, "
        "through its own norm and head."
    ),
    claims=(
        PublishedClaim(
            "gradients",
            "Separate heads and shared head: the layer losses' summed gradient points the way of the final loss's",
            "cosine 0.8 to 0.9 throughout (130m)",
            "number",
        ),
        PublishedClaim(
            "counterfactual",
            "It does so more than, counterfactually, in the baseline",
            "cosine 0.8 to 0.9 against about 0.1 (130m)",
            "number",
        ),
        PublishedClaim(
            "cost",
            "Separate heads and shared head: the last layer ends above the baseline",
            "+0.094, +0.114 (steps 2000 to 4960, 130m)",
        ),
        PublishedClaim(
            "growth",
            "Separate heads and shared head: what the last layer pays grows from a fifth of the training to its end",
            "+0.0161 to +0.0339, +0.0226 to +0.0409 bits per byte (steps 1000 to 4959, 130m)",
        ),
        PublishedClaim(
            "switched_off",
            "Shared head: the last layer ends above the baseline, but level with it where the head is switched off in "
            "the first twentieth of the training",
            "1.1636, 1.1638, 1.1639 against 1.1633 ± 0.0004 bits per byte (off at step 80, at 140, to zero by 150 of "
            "4959)",
        ),
        PublishedClaim(
            "llal", "LLAL: the last layer ends below the baseline", "-0.024 (validation loss, 60B mixture of experts)"
        ),
        PublishedClaim(
            "deeply_supervised",
            "Deeply-Supervised Nets: the last layer ends below the baseline",
            "error 10.41 to 9.78 %, 35.68 to 34.57 % (CIFAR-10 and CIFAR-100)",
        ),
    ),
    answers={
        "yes": "Not by open conflict: the losses of a supervised model pull the same way as the final loss.",
        "no": "By conflict: the losses of a supervised model pull against the final loss.",
        "no effect": "Not by open conflict: the losses of a supervised model pull neither way of the final loss.",
        "undecided": "Whether the losses of a supervised model pull the same way as the final loss takes more seeds.",
        "not run": "Gradients of supervised models have not been compared yet.",
    },
    numbers_title="What every supervision costs the last layer",
    signed=("minus_baseline",),
    figures=("related_work", "fixes", "mix", "switch_off", "gradient_cosines"),
    further="Of the fixes, the last layer ends, minus the baseline, at {}.",
)
