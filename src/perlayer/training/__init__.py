"""One run: what defines it, its Trainer, its logs and what it publishes."""
