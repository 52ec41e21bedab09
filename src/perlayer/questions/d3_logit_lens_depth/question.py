from perlayer.questions.question import PublishedClaim, Question

QUESTION = Question(
    key="D3",
    title="At which depth does the output take shape, and is it where contributions drop?",
    background=(
        "The model's own norm and head read the residual after every layer (logit lens). KL(lens || final output) says "
        "how far that is from the output, the overlap which share of the five likeliest tokens is the same. Two layers "
        "sum that up: the first whose input has a KL below half of the greatest, and the first whose input has an "
        "overlap above 0.2. They are at about the same depth as the drop of contributions when there is one and they "
        "are less than a sixth of the depth away from the layer at which contributions fall most. The claims are about "
        "the baseline; models whose layers were trained to be read by that head are near the output early by training."
    ),
    claims=(
        PublishedClaim(
            "kl",
            "The KL of the logit lens falls where contributions drop",
            "at about the same depth (figure 4)",
            "number",
        ),
        PublishedClaim(
            "overlap",
            "Its top-5 overlap rises where contributions drop",
            "at about the same depth (figure 4)",
            "number",
        ),
    ),
    answers={
        "yes": "The output takes shape at about the depth where contributions drop.",
        "no": "The output does not take shape where contributions drop.",
        "no effect": "Contributions drop nowhere, so that the output cannot take shape there.",
        "undecided": "Whether the output takes shape where contributions drop takes more seeds.",
        "not run": "No finished model of the recipe's depth has shown yet how it uses its depth.",
    },
    numbers_title="The layer from which the output is near, beside that of the drop",
    figures=("depth_profile",),
)
