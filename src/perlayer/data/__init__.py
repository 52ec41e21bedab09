"""From text to batches: corpus, tokenizer, tokens, shards, batches."""
