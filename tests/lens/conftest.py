import pytest
import torch
from tiny_model import LENGTH, VOCABULARY, tiny_decoder


@pytest.fixture
def decoder():
    return tiny_decoder()


@pytest.fixture
def rows():
    """Sequences of tokens in which documents end here and there."""
    return torch.randint(0, VOCABULARY, (7, LENGTH + 1), generator=torch.Generator().manual_seed(1))
