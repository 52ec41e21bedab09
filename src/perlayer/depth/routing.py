"""By which weights the sublayers of a finished model read and write, where its residual design routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from perlayer.depth.tables import DissectionNumber, Number, dissections_table
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lens.reading import at_once, held_out_rows
from perlayer.lens.settings import LensSettings
from perlayer.model.decoder import Decoder
from perlayer.model.residual.protocol import ResidualDesign, Sublayer
from perlayer.model.weights import load_model
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_table

ANALYSIS = "routing"
# Beside mean and standard deviation, the worst token: a gain that explodes anywhere, a stream that is lost anywhere.
EXTREMES = {"forward_gain": "max", "backward_gain": "max", "least_column_sum": "min"}


def read_run(
    run: str, size: str, settings: LensSettings, shards: Path, models: Path, metrics: Path, machine: Machine
) -> None:
    """Read how the finished model `models/RUN` routes, and publish `metrics/RUN/`.

    Raises:
        UserError: the model or the held-out text is missing or broken, or its residual design does not route.
    """
    device = prepare_process(machine)
    decoder = load_model(models / run).freeze().to(device)
    if not read_routing(decoder, torch.zeros(1, 2, dtype=torch.long)):  # one token is enough to see that
        raise UserError(
            f"params.yaml: routing.runs: expected runs whose residual design routes, and {run} has "
            f"{decoder.config.residual}"
        )
    rows = held_out_rows(shards, settings.sequences)
    found = {ANALYSIS: read_routing(decoder, rows)}
    with fresh_folder(metrics / run) as folder:
        write_table(DissectionNumber, dissections_table(run, size, found), folder / "dissections.parquet")


def read_routing(decoder: Decoder, rows: Tensor) -> list[Number]:
    """Every number of `routing_numbers` at every sublayer and at the head, over the tokens of held-out text.

    Its stats are the mean and standard deviation over tokens, and those of `EXTREMES`. Its `other_layer` is the stream
    from 1, or the place of the source from 0, the embedding. A matrix has a metric a row: `mixing_into_2` with
    `other_layer` 1 is what stream 2 takes of stream 1. The head stands at the last layer.

    Args:
        rows: token ids (sequences, length + 1).

    Returns:
        None at all where the design does not route.
    """
    found: dict[tuple[int, str, str], OverTokens] = {}
    with torch.inference_mode():
        for some in rows.split(at_once(rows)):
            product = None

            def see(design: ResidualDesign, state: Any, sublayer: Sublayer) -> None:
                nonlocal product
                numbers = routing_numbers(design.routing(state, sublayer), product)
                product = numbers.get("product", product)
                for metric, values in numbers.items():
                    found.setdefault((sublayer.layer, sublayer.kind, metric), OverTokens()).add(values)

            with watched(decoder, see) as read:
                read(some[:, :-1].to(decoder.lm_head.weight.device))
    return [
        Number(layer, kind, name, stat, value, other)
        for (layer, kind, metric), tokens in found.items()
        for stat, values in tokens.stats(EXTREMES.get(metric)).items()
        for name, other, value in _each(metric, values)
    ]


def routing_numbers(routing: dict[str, Tensor], before: Tensor | None) -> dict[str, Tensor]:
    """What is measured at one sublayer, for each token.

    - `read`, `write`: the weight of each stream, (tokens, streams).
    - `mixing`: what each stream after the sublayer takes of each before it, (tokens, streams, streams).
    - `product`: the mixing matrices from the first sublayer to this one multiplied, (tokens, streams, streams).
    - `forward_gain`, `backward_gain`: the greatest |row sum| and |column sum| of the product (arXiv 2512.24880),
      (tokens,).
    - `least_column_sum`: the least column sum of the product, (tokens,).
    - `source_weight`: the attention weight of each source, (tokens, sources), and `source_entropy` in nats, (tokens,).

    Args:
        routing: as `ResidualDesign.routing` gives it.
        before: the product as it was after the sublayer before; None where nothing has been mixed.
    """
    weights = {name: values.flatten(0, 1).double() for name, values in routing.items()}
    numbers = {name: weights[name] for name in ("read", "write", "mixing") if name in weights}
    if "mixing" in weights:
        product = weights["mixing"] if before is None else weights["mixing"] @ before
        rows, columns = product.sum(-1), product.sum(-2)
        numbers["product"] = product
        numbers["forward_gain"] = rows.abs().amax(-1)
        numbers["backward_gain"] = columns.abs().amax(-1)
        numbers["least_column_sum"] = columns.amin(-1)
    if "sources" in weights:
        numbers["source_weight"] = weights["sources"]
        numbers["source_entropy"] = torch.special.entr(weights["sources"]).sum(-1)
    return numbers


class OverTokens:
    """Mean, standard deviation, least and greatest over tokens of what comes a batch at a time, in float64."""

    def __init__(self):
        self.tokens = 0

    def add(self, values: Tensor) -> None:
        """Take in (tokens, ...)."""
        tokens, mean = len(values), values.mean(0)
        squares, least, greatest = (values - mean).square().sum(0), values.amin(0), values.amax(0)
        if not self.tokens:
            self.mean, self.squares, self.least, self.greatest = mean, squares, least, greatest
        else:  # Chan, Golub, LeVeque 1983: sums of squares around the mean lose no digits
            apart, total = mean - self.mean, self.tokens + tokens
            self.mean = self.mean + apart * tokens / total
            self.squares = self.squares + squares + apart.square() * self.tokens * tokens / total
            self.least, self.greatest = torch.minimum(self.least, least), torch.maximum(self.greatest, greatest)
        self.tokens += tokens

    def stats(self, extreme: str | None) -> dict[str, Tensor]:
        """By name: mean, standard_deviation, and max or min where asked."""
        stats = {"mean": self.mean, "standard_deviation": (self.squares / self.tokens).sqrt()}
        return stats | {name: bound for name, bound in (("max", self.greatest), ("min", self.least)) if name == extreme}


class _Watched(ResidualDesign):
    """A design as a layer uses it, which shows the state that each sublayer finds."""

    def __init__(self, design: ResidualDesign, see: Callable[[ResidualDesign, Any, Sublayer], None]):
        super().__init__(design.config)
        self.design, self.see = design, see

    def read(self, state: Any, sublayer: Sublayer) -> Tensor:
        self.see(self.design, state, sublayer)
        return self.design.read(state, sublayer)

    def attend(
        self, state: Any, sublayer: Sublayer, rotary: tuple[Tensor, Tensor], mask: Tensor | None
    ) -> tuple[Tensor, Any]:
        self.see(self.design, state, sublayer)
        return self.design.attend(state, sublayer, rotary, mask)

    def write(self, state: Any, sublayer: Sublayer, output: Tensor) -> Any:
        return self.design.write(state, sublayer, output)


@contextmanager
def watched(
    decoder: Decoder, see: Callable[[ResidualDesign, Any, Sublayer], None]
) -> Iterator[Callable[[Tensor], list[Tensor]]]:
    """The decoder as a function of tokens that calls `see(design, state, sublayer)` on the way.

    Once for each sublayer with the state it finds, and last for the head, whose `kind` is head.
    """
    layers, run_layer = decoder.config.layers, decoder.run_layer
    head = Sublayer(2 * layers, layers, "head", None)

    def run_watched(design: ResidualDesign, *arguments: Any) -> Any:
        return run_layer(_Watched(design, see), *arguments)

    def fork(layer: int, before: Any, after: Any, run: Callable[[Any], Any] | None) -> tuple[Any, Any]:
        if layer == layers:
            see(decoder.design, after, head)
        return after, after

    decoder.run_layer = run_watched
    try:
        yield lambda tokens: decoder(tokens, fork)
    finally:
        decoder.run_layer = run_layer


def _each(metric: str, values: Tensor) -> Iterator[tuple[str, int | None, float]]:
    """Name, `other_layer` and value of every number of a metric."""
    if values.ndim == 0:
        yield metric, None, values.item()
    elif values.ndim == 1:
        first = 0 if metric == "source_weight" else 1
        for place, value in enumerate(values.tolist(), first):
            yield metric, place, value
    else:
        for after, row in enumerate(values.tolist(), 1):
            for before, value in enumerate(row, 1):
                yield f"{metric}_into_{after}", before, value
