"""Stage tokenize: trains or loads the tokenizer, and writes the tokens of every document to data/tokens."""

from _run import run


def tokenize(params):
    from perlayer.data.settings import TokenizerSettings, parse_part
    from perlayer.data.tokens import tokenize
    from perlayer.params import recipe

    settings = parse_part(TokenizerSettings, *recipe(params, "data"))
    tokenizer, sizes = tokenize("data/corpus", settings.tokenizer, settings.vocab_size, "data/tokenizer", "data/tokens")
    print(f"tokenizer: {tokenizer.size:,} of {settings.vocab_size:,} ids in use")
    for name, size in sizes.items():
        print(f"{name}: {size.documents:,} documents, {size.tokens:,} tokens, {size.text_bytes:,} bytes")
        if size.token_bytes != size.text_bytes:
            print(f"{name}: its tokens stand for {size.token_bytes:,} bytes: this tokenizer changes the text first")


if __name__ == "__main__":
    run(tokenize)
