"""The claims of F16 against lenses made so that the answer is known."""

import made_up_results as made_up
import pytest

from perlayer.questions.f16_logit_lens.question import QUESTION

ALL = ("above_heads", "falls", "last_two", "tuned_closer")
LENS = (6.0, 5.8, 4.0, 3.0)  # of four layers
ERROR = 0.001


def judge(lens=LENS, heads=2.5, tuned=0.5, seeds=range(5)):
    """The verdicts where a lens reads these losses, separate heads `heads`, and a tuned lens diverges by `tuned`."""
    rows, runs = [], {}
    for seed in seeds:
        runs |= {
            f"{kind}_{seed}": {"residual": "sandwich", "readouts": kind, "seed": seed}
            for kind in ("probes", "separate")
        }
        for layer, loss in enumerate(lens, 1):
            row = {"run": f"probes_{seed}", "layer": layer, "split": "val"}
            for kind, divergence in (("logit_lens", 1.0), ("tuned_lens", tuned)):
                numbers = {"loss": loss + 0.001 * seed, "kl_final_lens": divergence}
                numbers |= {f"{metric}_standard_error": ERROR for metric in numbers}
                rows += [{**row, "readout": kind, "metric": metric, "value": n} for metric, n in numbers.items()]
            heard = {"readout": "separate", "value": heads + 0.001 * seed}
            rows.append({**row, "run": f"separate_{seed}", **heard})
    with made_up.in_memory(rows, runs, len(lens), QUESTION) as connection:
        return made_up.verdicts(connection)


def test_like_the_published_results():
    assert judge() == dict.fromkeys(ALL, "yes")


@pytest.mark.parametrize(
    "claim, changes, verdict",
    [
        ("above_heads", {"heads": 5.0}, "no"),
        ("above_heads", {"lens": (4.0, 4.0, 4.0, 3.0), "heads": 4.0}, "no effect"),
        ("falls", {"lens": (6.0, 5.8, 5.9, 3.0)}, "no"),
        ("falls", {"lens": (6.0, 5.8, 5.8, 3.0)}, "no effect"),
        ("last_two", {"lens": (6.0, 3.5, 3.2, 3.0)}, "no"),
        ("last_two", {"lens": (6.0, 4.5, 4.0, 3.0)}, "no effect"),
        ("last_two", {"lens": (3.0, 4.5, 4.0, 3.5)}, "no"),  # no fall
        ("tuned_closer", {"tuned": 1.1}, "no"),
        ("tuned_closer", {"tuned": 1.0}, "no effect"),
    ],
)
def test_a_claim_can_fail_and_come_to_nothing(claim, changes, verdict):
    assert judge(**changes)[claim] == verdict


def test_one_seed_decides_only_what_is_of_one_model():
    assert judge(seeds=(0,)) == dict.fromkeys(("falls", "tuned_closer"), "yes") | dict.fromkeys(
        ("above_heads", "last_two"), "undecided"
    )


def test_without_lenses_nothing_has_run():
    assert judge(seeds=()) == dict.fromkeys(ALL, "not run")
