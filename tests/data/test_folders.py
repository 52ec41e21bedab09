import numpy as np
import pytest

from perlayer.data.folders import ArrayWriter, new_folder, read_array
from perlayer.errors import UserError


def test_an_array_written_in_pieces_is_the_file_that_numpy_writes(tmp_path):
    with ArrayWriter(tmp_path / "pieces.npy", np.uint16) as writer:
        writer.append(np.arange(70_000) % 65_536)
        writer.append(np.arange(0))
        writer.append(np.array([7]))
    whole = np.append(np.arange(70_000) % 65_536, 7).astype(np.uint16)
    assert np.array_equal(read_array(tmp_path / "pieces.npy"), whole)
    np.save(tmp_path / "whole.npy", whole)
    assert (tmp_path / "pieces.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_a_truncated_array_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(100))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content[:-8])
    with pytest.raises(UserError, match=r"a\.npy: expected a whole \.npy file"):
        read_array(tmp_path / "a.npy")


def test_a_new_folder_is_empty_and_half_written_work_is_removed(tmp_path):
    folder = tmp_path / "out"
    with new_folder(folder) as path:
        (path / "old").touch()
    with new_folder(folder) as path:
        assert list(path.iterdir()) == []
        (path / "new").touch()
    assert [path.name for path in folder.iterdir()] == ["new"]
    with pytest.raises(ZeroDivisionError), new_folder(folder) as path:
        (path / "half").touch()
        raise ZeroDivisionError
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/out: expected a folder that can be written, found: Not a directory"):
        with new_folder(tmp_path / "file" / "out"):
            pass
