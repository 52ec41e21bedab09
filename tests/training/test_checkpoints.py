"""Which checkpoint a training goes on from."""

import random

import torch

from perlayer.training.checkpoints import LATEST, Checksums, link_newest_whole


def save(folder, batch):
    """As Composer does: the file, then the link, then what it tells its loggers."""
    path = folder / f"ep0-ba{batch}-rank0.pt"
    torch.save({"weights": torch.full((40,), float(batch))}, path)
    (folder / LATEST).unlink(missing_ok=True)
    (folder / LATEST).symlink_to(path.name)
    Checksums().upload_file(None, "", path)
    return path


def newest(folder):
    link_newest_whole(folder, "run")
    return (folder / LATEST).resolve().name if (folder / LATEST).exists() else None


def test_one_flipped_bit_anywhere_is_found(tmp_path):
    """In what torch checks itself, in what only the checksums of a zip file cover, and in what neither does."""
    save(tmp_path, 9)
    path = save(tmp_path, 10)  # by number, not by name
    content = path.read_bytes()
    rng = random.Random(0)
    places = [0, len(content) - 1, *rng.sample(range(len(content)), 60)]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        assert newest(tmp_path) == "ep0-ba9-rank0.pt", place
    path.write_bytes(content)
    assert newest(tmp_path) == path.name


def test_what_was_being_written_goes_and_two_stay(tmp_path, capsys):
    for batch in (2, 4, 6):
        save(tmp_path, batch)
    (tmp_path / "ep0-ba8-rank0.pt").write_bytes(b"killed in the middle")
    (tmp_path / LATEST).unlink()  # killed between the two halves of a link
    assert newest(tmp_path) == "ep0-ba6-rank0.pt"
    assert sorted(path.name for path in tmp_path.glob("ep*")) == ["ep0-ba4-rank0.pt", "ep0-ba6-rank0.pt"]
    assert capsys.readouterr().err == ""


def test_where_none_is_whole_it_is_said(tmp_path, capsys):
    assert newest(tmp_path) is None and capsys.readouterr().err == ""
    (tmp_path / "ep0-ba8-rank0.pt").write_bytes(b"killed in the middle")
    assert newest(tmp_path) is None
    assert (
        capsys.readouterr().err == f"run: no checkpoint in {tmp_path} is whole; training starts from the first update\n"
    )
