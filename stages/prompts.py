"""Stage prompts: the prompts on which depth is compared with difficulty, to data/prompts, one file a set."""

from _run import run


def prompts(params):
    from pathlib import Path

    from perlayer.depth.prompt_sets import write_prompt_sets
    from perlayer.depth.settings import parse_prompts

    for name, chosen in write_prompt_sets(parse_prompts(params), Path("data/prompts")).items():
        print(f"{name}: {len(chosen):,} prompts of {len({prompt.group for prompt in chosen})} groups")


if __name__ == "__main__":
    run(prompts)
