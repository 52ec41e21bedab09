from perlayer.questions.question import PublishedClaim, Question

TESTING = "testing, no figure"


QUESTION = Question(
    key="Q9",
    title="Why does AttnRes scramble what its layers hold?",
    background=(
        "After every layer of a plain model the held-out loss is read by a probe that was trained with it, by the "
        "logit lens (its own norm and head) and by the tuned lens. Where layers hold ever more of the prediction, it "
        "falls with depth. How far it departs from that is Kendall's tau of layer and loss, -1 when every layer lowers "
        "it. Layers count as not ordered where tau is so high that a random order of them has no higher one in 5 of "
        "100 cases or more. Probes read all of that text, lenses the first lens.sequences of it, as params.yaml says. "
        "Every sublayer of an AttnRes model reads a weighted average of what came before, and so does its head."
    ),
    claims=(
        PublishedClaim("full_probes", "AttnRes full: by probes, layers are not ordered by depth", TESTING, "number"),
        PublishedClaim(
            "full_lens", "AttnRes full: by the logit lens, layers are not ordered by depth", TESTING, "number"
        ),
        PublishedClaim("block_probes", "AttnRes block: by probes, layers are not ordered by depth", TESTING, "number"),
        PublishedClaim(
            "block_lens", "AttnRes block: by the logit lens, layers are not ordered by depth", TESTING, "number"
        ),
        PublishedClaim(
            "baseline_falls",
            "Baseline: probes fall with every layer",
            "4.643 4.216 3.941 3.503 3.257 (layers 2 to 6, 130m, training loss)",
        ),
    ),
    answers={
        "yes": "By probes, the layers of AttnRes full are in no clearer an order by depth than chance makes.",
        "no": "It does not: by probes, the layers of AttnRes full are ordered by depth.",
        "no effect": "By probes, the layers of AttnRes full are at the edge of what chance makes an order by depth.",
        "undecided": "Whether AttnRes scrambles what probes read from its layers takes more seeds.",
        "not run": "Probes have not read an AttnRes model of four layers or more yet.",
    },
    numbers_title="How the held-out loss goes with depth",
    signed=("tau", "chance"),
    figures=("depth_order",),
    further="The head of an AttnRes model reads an average: {}.",
)
