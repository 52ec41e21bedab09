"""Stage shard: holds documents out, cuts the tokens to sequences and writes them in the final data order."""

from _run import run


def shard(params):
    from perlayer.data.settings import BatchSettings, ShardSettings, parse_part
    from perlayer.data.shards import write_shards
    from perlayer.lean_imports import import_lean
    from perlayer.params import recipe

    import_lean("streaming")
    settings = parse_part(ShardSettings, *recipe(params, "data"))
    dataset = write_shards(
        "data/tokens",
        "data/shards",
        val_fraction=settings.val_fraction,
        sequence_length=settings.sequence_length,
        seed=settings.seed,
        batch=parse_part(BatchSettings, *recipe(params, "train")).batch,
    )
    for split in ("train", "val"):
        documents, sequences, tokens, dropped = (
            getattr(dataset, f"{split}_{what}") for what in ("documents", "sequences", "tokens", "tokens_dropped")
        )
        print(f"{split}: {documents:,} documents, {sequences:,} sequences, {tokens:,} tokens ({dropped:,} dropped)")
    if dataset.shared_documents_dropped:
        print(f"train: {dataset.shared_documents_dropped:,} documents left out: they stand in the validation text too")


if __name__ == "__main__":
    run(shard)
