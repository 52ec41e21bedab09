import numpy as np

from perlayer.data.folders import ArrayWriter, read_array
from perlayer.store import fresh_folder


def test_an_array_written_in_pieces_is_the_file_that_numpy_writes(tmp_path):
    whole = np.append(np.arange(70_000) % 65_536, 7).astype(np.uint16)
    with fresh_folder(tmp_path / "arrays") as folder:
        with ArrayWriter(folder / "pieces.npy", np.uint16) as writer:
            writer.append(np.arange(70_000) % 65_536)
            writer.append(np.arange(0))
            writer.append(np.array([7]))
        np.save(folder / "whole.npy", whole)
    folder = tmp_path / "arrays"
    assert np.array_equal(read_array(folder / "pieces.npy"), whole)
    assert (folder / "pieces.npy").read_bytes() == (folder / "whole.npy").read_bytes()
