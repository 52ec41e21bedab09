"""The sets of prompts that params.yaml asks for, and the folder in which they stand: a file of prompts each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perlayer.depth.prompts import Prompt, arithmetic_prompts, read_prompts, write_prompts
from perlayer.depth.published_prompts import SEED, published_prompts, some_of_each
from perlayer.depth.settings import PROMPTS, PromptFile, Sums
from perlayer.store import fresh_folder, verified_files


def chosen_prompts(asked: Sums | PromptFile) -> list[Prompt]:
    """The prompts of one set.

    Raises:
        UserError: its file is missing, empty, or has a line that is not what its format says.
    """
    if isinstance(asked, Sums):
        return arithmetic_prompts(asked.operands, asked.each, SEED)
    known = read_prompts(asked.file) if asked.format == PROMPTS else published_prompts(asked.format, asked.file)
    return some_of_each(known, asked.each)


def write_prompt_sets(asked: Mapping[str, Sums | PromptFile], folder: Path) -> dict[str, list[Prompt]]:
    """Write `folder`/NAME.jsonl for each set, and return the prompts by name.

    Raises:
        UserError: as `chosen_prompts`.
    """
    sets = {name: chosen_prompts(one) for name, one in asked.items()}
    with fresh_folder(folder) as fresh:
        for name, prompts in sets.items():
            write_prompts(prompts, fresh / f"{name}.jsonl")
    return sets


def read_prompt_sets(folder: Path) -> dict[str, list[Prompt]]:
    """The prompts of every set in a folder, by name, in the order of names."""
    return {path.stem: read_prompts(path) for path in verified_files(folder, "*.jsonl")}
