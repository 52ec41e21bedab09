"""Stage published: the text as a published model reads it, in its own tokens, to data/published/NAME."""

from _run import run


def published(params, name):
    from collections import ChainMap

    from perlayer.data.settings import ShardSettings, parse_part
    from perlayer.data.shards import write_shards
    from perlayer.data.tokens import tokenize_as_published
    from perlayer.lifetimes import temporary_folder
    from perlayer.model.published_settings import parse_published_model, read_published_config
    from perlayer.params import recipe

    model = parse_published_model(params, name)
    section, where = recipe(params, "data")
    settings = parse_part(ShardSettings, ChainMap({"sequence_length": model.sequence_length}, section), where)
    config = read_published_config(model.path, model.sequence_length)
    with temporary_folder("perlayer-") as folder:
        tokens = folder / "tokens"
        tokenize_as_published("data/corpus", model.path, config["vocab_size"], tokens)
        dataset = write_shards(
            tokens,
            f"data/published/{name}",
            val_fraction=settings.val_fraction,
            sequence_length=settings.sequence_length,
            seed=settings.seed,
            batch=model.tuned_batch if model.tuned_steps else 1,
        )
    print(f"{name}: {dataset.train_sequences:,} and {dataset.val_sequences:,} held-out sequences", end=" ")
    print(f"of {dataset.sequence_length:,} tokens")


if __name__ == "__main__":
    run(published)
