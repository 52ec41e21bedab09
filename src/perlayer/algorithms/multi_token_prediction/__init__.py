"""Multi-token prediction: the model is trained to know later tokens, too."""
