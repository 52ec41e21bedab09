"""Stage corpus: a text by name, path, glob or URL, to data/corpus/*.parquet, one row a document."""

from _run import run


def corpus(params):
    from perlayer.data.corpus import build_corpus
    from perlayer.data.settings import CorpusSettings, parse_part
    from perlayer.params import recipe

    settings = parse_part(CorpusSettings, *recipe(params, "data"))
    sizes = build_corpus(settings.corpus, settings.text_column, "data/corpus", settings.validation)
    for name, size in sizes.items():
        print(f"{name}: {size.documents:,} documents, {size.bytes:,} bytes ({size.empty:,} empty ones left out)")


if __name__ == "__main__":
    run(corpus)
