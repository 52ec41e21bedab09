"""Next-token losses from hidden states."""
