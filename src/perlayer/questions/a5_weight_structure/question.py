"""Do weights change from layer to layer in a pattern?"""

from __future__ import annotations

import duckdb

from perlayer.questions.made_of import ABOUT_BASELINE, baseline, beside, findings, unmeasured
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, noise_of, signed


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How far the correlation lies from -0.50, which is what independent layers give, and components from theirs."""
    if not findings(connection, "delta_correlation"):
        return unmeasured(connection, 3)
    sentences = [*_correlation(connection), *_components(connection)]
    words = "how far the correlation lies from that of independent layers is"
    sentences += beside(connection, "delta_excess", words, "{:+.3f}".format)
    return " ".join([*sentences, claims_fared(connection, "A5")])


def _correlation(connection: duckdb.DuckDBPyConnection) -> list[str]:
    named = ("delta_correlation", "delta_correlation_initial", "delta_excess")
    correlation, initial, excess = (baseline(connection, name) for name in named)
    if correlation is None or initial is None or excess is None:
        return []
    text = (
        f"In the baseline consecutive changes of weights correlate at {correlation.mean:+.3f}, and before training at "
        f"{initial.mean:+.3f}. That is no pattern by itself: -0.50 is what independent layers give, as both changes "
        f"hold the layer between them with opposite signs. From what independent layers of these sizes give it is "
        f"{excess.mean:+.3f} away ({noise_of(excess.noise)})"
    )
    if not beyond(excess.mean, excess.noise):
        return [f"{text}: nothing says that training put a pattern there."]
    if excess.mean > 0:
        return [f"{text}: neighbouring layers are more alike than independent ones."]
    return [f"{text}: neighbouring layers alternate more than independent ones."]


def _components(connection: duckdb.DuckDBPyConnection) -> list[str]:
    share, excess = baseline(connection, "first_component"), baseline(connection, "first_component_excess")
    if share is None or excess is None:
        return []
    return [
        f"The first principal component explains {100 * share.mean:.1f} % of the variance over layers, "
        f"{signed(100 * excess.mean, 1)} points from independent layers "
        f"(noise {'not known' if excess.noise is None else f'{100 * excess.noise:.1f}'})."
    ]


QUESTION = Question(
    key="A5",
    title="Do weights change from layer to layer in a pattern?",
    background=(
        "For each kind of matrix, the change of its weights from one layer to the next is correlated with the change "
        "after that, over all entries. The null is not 0: independent layers of equal variance give exactly -0.50, and "
        "of unequal ones what follows from their variances. Principal components are those of the layers as points, "
        "beside independent normal draws of the same norms, since independent layers spread alike in all directions. "
        f"Both stand beside the model before training. {ABOUT_BASELINE}"
    ),
    runs=sql("anatomy_runs"),
    numbers=sql("a5_numbers"),
    numbers_title="Correlation of consecutive changes of weights, and first principal component, beside their nulls",
    signed=("correlation", "before_training", "independent", "from_independent", "component_from_independent"),
    testing=sql("anatomy_testing"),
    claims=sql("a5_claims"),
    figures=("weight_structure",),
    verdict=verdict,
)
