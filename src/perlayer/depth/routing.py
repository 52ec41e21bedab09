"""By which weights the sublayers of a finished model read and write, where its residual design routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from perlayer.depth.tables import TABLES, Route
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lens.reading import at_once, held_out_rows
from perlayer.lens.settings import LensSettings
from perlayer.model.decoder import Decoder
from perlayer.model.residual.protocol import ResidualDesign, Sublayer
from perlayer.model.weights import load_model
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_tables


def read_run(run: str, settings: LensSettings, shards: Path, models: Path, metrics: Path, machine: Machine) -> None:
    """Read how the finished model `models/RUN` routes, and publish `metrics/RUN/`.

    Raises:
        UserError: the model or the held-out text is missing or broken, or its residual design does not route.
    """
    device = prepare_process(machine)
    decoder = load_model(models / run).freeze().to(device)
    if not read_routing(run, decoder, torch.zeros(1, 2, dtype=torch.long)):  # one token is enough to see that
        raise UserError(
            f"params.yaml: routing.runs: expected runs whose residual design routes, and {run} has "
            f"{decoder.config.residual}"
        )
    found = read_routing(run, decoder, held_out_rows(shards, settings.sequences))
    with fresh_folder(metrics / run) as folder:
        write_tables(TABLES, {"routing": found}, folder)


def read_routing(name: str, decoder: Decoder, rows: Tensor) -> list[Route]:
    """`routing_numbers` at every sublayer and at the head, means over the tokens of held-out text.

    Those of the gains are also at the token where they are greatest. `other_layer` is the stream from 1, or the place
    of the source from 0, the embedding. The head stands at the last layer.

    Args:
        name: of the model.
        rows: token ids (sequences, length + 1).

    Returns:
        None at all where the design does not route.
    """
    found: dict[tuple[int, str, int], dict[str, OverTokens]] = {}
    with torch.inference_mode():
        for some in rows.split(at_once(rows)):
            product = None

            def see(design: ResidualDesign, state: Any, sublayer: Sublayer) -> None:
                nonlocal product
                numbers = routing_numbers(design.routing(state, sublayer), product)
                product = numbers.pop("product", product)
                place = found.setdefault((sublayer.layer, sublayer.kind, sublayer.index), {})
                for measure, values in numbers.items():
                    place.setdefault(measure, OverTokens()).add(values)

            with watched(decoder, see) as read:
                read(some[:, :-1].to(decoder.lm_head.weight.device))
    return [
        Route(name, *place, other, **values)
        for place, over in found.items()
        for other, values in _by_other_layer(over).items()
    ]


def _by_other_layer(found: Mapping[str, OverTokens]) -> dict[int | None, dict[str, float]]:
    """The numbers of a sublayer by stream or source; None for those that are of none."""
    rows: dict[int | None, dict[str, float]] = {}
    for measure, over in found.items():
        first = 0 if measure == "source_weight" else 1
        values = {None: over.mean} if over.mean.ndim == 0 else dict(enumerate(over.mean, first))
        for other, value in values.items():
            rows.setdefault(other, {})[measure] = value.item()
        if measure.endswith("_gain"):  # a gain that explodes anywhere
            rows[None][f"greatest_{measure}"] = over.greatest.item()
    return rows


def routing_numbers(routing: dict[str, Tensor], before: Tensor | None) -> dict[str, Tensor]:
    """What is measured at one sublayer, for each token.

    - `read`, `write`: the weight of each stream, (tokens, streams).
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
    numbers = {name: weights[name] for name in ("read", "write") if name in weights}
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
    """Mean and greatest over tokens of what comes a batch at a time, in float64."""

    def __init__(self):
        self.tokens = 0

    def add(self, values: Tensor) -> None:
        """Take in (tokens, ...)."""
        mean, greatest = values.mean(0), values.amax(0)
        self.tokens += len(values)
        if self.tokens == len(values):
            self.mean, self.greatest = mean, greatest
        else:
            self.mean = self.mean + (mean - self.mean) * len(values) / self.tokens
            self.greatest = torch.maximum(self.greatest, greatest)


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
