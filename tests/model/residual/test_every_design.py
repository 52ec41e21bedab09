"""What holds for every residual design, whatever its connections: a new file is held to it by being there."""

import pytest
from tiny import assert_causal, assert_documents_apart, assert_mixed_precision, build, move

from perlayer.model.config import design_names


@pytest.mark.parametrize("name", design_names())
def test_no_tap_sees_the_future_or_another_document(name):
    assert_causal(move(build(name)))
    assert_documents_apart(move(build(name)))


@pytest.mark.parametrize("name", design_names())
def test_with_products_in_bfloat16_the_stream_stays_float32(name):
    assert_mixed_precision(build(name))
