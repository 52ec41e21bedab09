"""Made-up growth training beside uniform training, with known losses and costs."""

import made_up_results as made_up

PLAIN = {"residual": "sandwich", "readouts": "none", "seed": 0}
# By name: section, seed, further keys, updates, validation loss, and the first update of each stage with its cost.
GROWTH = {"growth": {"protocol": "six_stages"}}
RUNS = {
    "baseline": ("runs", 0, {}, 100, 3.0, []),
    "probes_seed_1": ("runs", 1, {}, 100, 3.1, []),
    "short": ("growth", 0, {"steps": 80}, 80, 3.05, []),
    "grown": ("growth", 0, GROWTH, 100, 3.2, [(1, 0.6), (51, 1.0)]),
    "grown_seed_1": ("growth", 1, GROWTH, 100, 3.26, [(1, 0.6), (51, 1.0)]),
    "grown_half": ("growth", 0, GROWTH | {"steps": 50}, 50, 3.4, [(1, 0.5), (41, 1.0)]),
    "wide": ("ladder", 0, {}, 100, 1.0, []),
    "separate": ("runs", 0, {"readouts": "separate"}, 100, 1.0, []),
}


def in_memory(runs=RUNS, question=None):
    """A connection to growth and uniform runs."""
    definitions = {run: {**PLAIN, "seed": seed, **keys} for run, (_, seed, keys, *_) in runs.items()}
    losses = [
        {"run": run, "layer": 6, "step": steps, "split": "val", "value": loss}
        for run, (_, _, _, steps, loss, _) in runs.items()
    ]
    costs = [
        {"run": run, "layer": 6, "step": first, "metric": "compute", "value": cost}
        for run, (*_, stages) in runs.items()
        for first, cost in stages
    ]
    trained = "UPDATE runs SET section = ?, steps = ?, val_loss = ? WHERE run = ?"
    changes = [(trained, [section, steps, loss, run]) for run, (section, _, _, steps, loss, _) in runs.items()]
    return made_up.in_memory([*losses, *costs], definitions, 6, question, changes)
