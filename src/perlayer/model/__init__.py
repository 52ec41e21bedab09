"""The Qwen3 decoder, its residual designs and the readouts that look at it."""
