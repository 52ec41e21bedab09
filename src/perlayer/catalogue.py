"""The table of all runs that params.yaml names: what each of them is, in the words by which views group and name it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from perlayer.algorithms.settings import in_words
from perlayer.runs import Run, parse_recipe, parse_run
from perlayer.tables import Int16, Int32, Int64, Measured

# The residual designs that are published side by side, in the order in which they are shown, and variants of them.
PUBLISHED_DESIGNS = {
    "sandwich": "Sandwich-LN",
    "pre_ln": "Pre-LN",
    "layernorm_scaling": "LayerNorm Scaling",
    "deepnorm": "DeepNorm",
    "keel": "KEEL",
    "hyper_connections": "Hyper-Connections",
    "mhc": "mHC",
    "attnres_full": "AttnRes full",
    "attnres_block": "AttnRes block",
    "moda": "MoDA",
}
OTHER_DESIGNS = {"hyper_connections_static": "Hyper-Connections static", "mhc_lite": "mHC-lite"}
SETUPS = {
    "baseline": "baseline",
    "separate": "separate heads",
    "shared": "shared head",
    "shared_stop_gradient": "shared, stop-gradient",
}


@dataclass(frozen=True)
class CatalogueRow:
    """A row of the table `runs`, which says what its columns mean (`perlayer query --list runs`)."""

    run: str
    size: str
    rung: str | None
    residual: str
    design: str
    design_place: Int16
    published_design: bool
    value_residual: str | None
    readouts: str
    setup: str
    seed: Int64
    layers: Int16
    full_depth: bool
    changes: str
    training: str
    standard: bool
    plain: bool
    label: str
    seed_group: str
    backbone: str
    counts: bool
    baseline: str | None
    weighting: str | None
    total: Measured[float] | None
    weighted_layers: Int16 | None
    schedule: str | None
    schedule_kind: str | None
    ends: Int32 | None
    reach: str
    surgery: str
    layer_dropout: str
    multi_token: str | None
    growth: str | None
    ema: bool
    other: str
    routing: bool
    present: bool
    left_out: str | None
    steps: Int32 | None = None  # from here on what its results say
    tokens: Int64 | None = None
    backbone_parameters: Measured[float] | None = None
    final_loss: Measured[float] | None = None
    val_loss: Measured[float] | None = None
    val_bits_per_byte: Measured[float] | None = None
    ema_loss: Measured[float] | None = None


def parse_runs(params: Mapping[str, Any]) -> list[Run]:
    """All runs that params.yaml names, in order of name.

    Raises:
        UserError: an unknown key, or an impossible value.
    """
    return [parse_run(params, name) for name in sorted(params["runs"])]


def catalogue(
    params: Mapping[str, Any],
    present: Collection[str] = (),
    left_out: Mapping[str, str] | None = None,
    routing: Collection[str] = (),
) -> list[CatalogueRow]:
    """A row for each run, in order of name.

    Args:
        params: all of params.yaml.
        present: the runs whose results are here, and compared.
        left_out: why those of others are not compared, by run.
        routing: the runs that show by which weights they route.

    Raises:
        UserError: a run is not defined as it should be.
    """
    runs = parse_runs(params)
    depths = {rung: parse_recipe(params, rung) for rung in {run.rung for run in runs}}
    named = PUBLISHED_DESIGNS | OTHER_DESIGNS
    rows = []
    for run in runs:
        recipe = depths[run.rung]
        layers = run.layers or recipe.model.layers
        changes = _changes(run)
        described = _described(run, layers, run.updates(recipe.train.steps))
        row = CatalogueRow(
            run=run.name,
            size=run.rung or params["size"],
            rung=run.rung,
            residual=run.residual,
            design=named.get(run.residual, run.residual.replace("_", " ")),
            design_place=[*named, run.residual].index(run.residual) + 1,
            published_design=run.residual in PUBLISHED_DESIGNS,
            value_residual=run.value_residual,
            readouts=run.readouts,
            setup="baseline" if run.readouts in ("none", "probes") else run.readouts,
            seed=run.seed,
            layers=layers,
            full_depth=layers == recipe.model.layers,
            changes=", ".join(changes),
            training=in_words(changes),
            standard=not changes,
            plain=not changes and run.readouts in ("none", "probes"),
            label="",
            seed_group=run.name,
            backbone=run.name,
            counts=True,
            baseline=None,
            routing=run.name in routing,
            present=run.name in present,
            left_out=(left_out or {}).get(run.name),
            **described,
        )
        rows.append(replace(row, label=_label(row)))
    return _with_baselines(_with_groups(rows, {run.name: _setting(run, row) for run, row in zip(runs, rows)}))


def _label(row: CatalogueRow) -> str:
    """Its design, what reads it, its depth and what else changes its training; what is as usual is not said."""
    parts = {
        row.design: row.residual != "sandwich",
        SETUPS[row.setup]: row.setup != "baseline" or row.residual == "sandwich",
        f"{row.layers} layer{'s' * (row.layers > 1)}": not row.full_depth,
        row.training: not row.standard,
    }
    return ", ".join(part for part, said in parts.items() if said)


def _changes(run: Run) -> dict[str, Any]:
    """The keys that change its training, beside design, readouts, seed, depth and rung, in order of name."""
    reading = run.algorithms.get("per_layer_loss")
    said = {
        "steps": run.steps,
        "value_residual": run.value_residual,
        "weighting": reading and reading.weighting,
        "schedule": reading and reading.schedule,
        **{name: vars(settings) for name, settings in run.algorithms.items() if not settings.looks_on},
    }
    return {name: said[name] for name in sorted(said) if said[name] is not None and name != "per_layer_loss"}


def _described(run: Run, layers: int, steps: int) -> dict[str, Any]:
    """What the algorithms of a run say of it, by column."""
    row: dict[str, Any] = dict.fromkeys(
        ("weighting", "total", "weighted_layers", "schedule", "schedule_kind", "ends", "multi_token", "growth")
    )
    row |= {"reach": "all below", "surgery": "none", "layer_dropout": "none", "ema": False}
    others = []
    for settings in run.algorithms.values():
        said = dict(settings.described(layers, steps))
        others += [said.pop("other")] if "other" in said else []
        row |= said
    others += [in_words({"steps": run.steps})] if run.steps is not None else []
    return {**row, "other": ", ".join(others)}


def _setting(run: Run, row: CatalogueRow) -> str:
    """What runs have in common that differ in nothing but seed or what looks on."""
    algorithms = {name: settings for name, settings in run.algorithms.items() if not settings.looks_on}
    return repr(replace(run, name="", seed=0, layers=row.layers, algorithms=dict(sorted(algorithms.items()))))


def _with_groups(rows: list[CatalogueRow], settings: Mapping[str, str]) -> list[CatalogueRow]:
    """Rows with the groups of each, named after their representatives, and which runs of one seed count."""
    groups: dict[Any, str] = {}
    counting: dict[Any, str] = {}
    for row in sorted(rows, key=lambda row: (not row.present, row.seed, row.ema, row.readouts, row.run)):
        groups.setdefault(settings[row.run], row.run)
        groups.setdefault(_backbone(row, settings), row.run)
    for row in sorted(rows, key=lambda row: (not row.present, len(row.run), row.run)):
        counting.setdefault((settings[row.run], row.seed, row.ema), row.run)
    return [
        replace(
            row,
            seed_group=groups[settings[row.run]],
            backbone=groups[_backbone(row, settings)],
            counts=counting[settings[row.run], row.seed, row.ema] == row.run,
        )
        for row in rows
    ]


def _backbone(row: CatalogueRow, settings: Mapping[str, str]) -> tuple[str, ...]:
    """What runs have in common whose backbones train alike but for their seed: of plain ones probes look on, too."""
    plain = (str(row.rung), row.residual, str(row.layers), "plain")
    return plain if row.plain else (settings[row.run], "backbone")


def _with_baselines(rows: list[CatalogueRow]) -> list[CatalogueRow]:
    """Rows with the depth-matched baseline of each: the seed group of plain runs of its design, depth and rung."""
    plain: dict[Any, str] = {}
    for row in sorted((row for row in rows if row.plain), key=lambda row: (not row.present, row.readouts, row.seed)):
        plain.setdefault((row.rung, row.residual, row.layers), row.seed_group)
    return [replace(row, baseline=plain.get((row.rung, row.residual, row.layers))) for row in rows]
