"""Does multi-token prediction change what each layer knows?"""

from pathlib import Path

import duckdb

from perlayer.questions.question import PublishedClaim, Question


def further(connection: duckdb.DuckDBPyConnection) -> str | None:
    """What the module that predicts the token after next reaches, beside the probe on the layer that it starts from."""
    row = connection.execute(
        """SELECT module, loss - module FROM multi_token_layers WHERE residual = 'sandwich' AND full_depth
        AND rung IS NULL AND method = deepseek_v3() AND ahead = 2 AND module IS NOT NULL"""
    ).fetchone()
    if row is None:
        return None
    loss, below = row
    return (
        f"The module ends at {loss:.3f} nats for the token after next, {abs(below):.3f} "
        f"{'below' if below > 0 else 'above'} the probe on the last layer of the same models."
    )


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
    folder=Path(__file__).parent,
    further=further,
)
