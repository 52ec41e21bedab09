import json
import shutil

import numpy as np
import pytest

from perlayer.data.batches import read_split
from perlayer.data.dataset import read_bytes_per_token, read_dataset, verify_shards
from perlayer.data.shards import DocumentStream, choose_held_out, document_keys, write_shards
from perlayer.data.tokens import Tokens, read_tokens
from perlayer.errors import UserError
from perlayer.store import fresh_folder

SETTINGS = {"val_fraction": 0.25, "sequence_length": 4, "seed": 42, "batch": 2}


def write_tokens(folder, documents, vocab_size=300, validation=()):
    """A folder of tokens by hand: BOS 0, EOS 1; each id stands for as many bytes as its last digit."""
    ids = np.arange(vocab_size)
    with fresh_folder(folder) as fresh:
        for part, some in ((fresh, documents), (fresh / "validation", validation)):
            whole = [[0, *document, 1] for document in some]
            part.mkdir(exist_ok=True)
            np.save(part / "tokens.npy", np.array(sum(whole, []), np.uint16))
            np.save(part / "offsets.npy", np.cumsum([0, *map(len, whole)]))
        if not validation:
            shutil.rmtree(fresh / "validation")
        np.save(fresh / "bytes_per_token.npy", (ids % 10 * (ids > 1)).astype(np.int32))
        (fresh / "vocabulary.json").write_text(json.dumps({"vocab_size": vocab_size, "bos_id": 0, "eos_id": 1}))
    return folder


def split_documents(rows):
    """The documents of rows in stream order, rebuilt by joining rows at the token they share."""
    stream = [int(rows[0][0])]
    for row in rows:
        assert row[0] == stream[-1]
        stream += row[1:].tolist()
    return stream


@pytest.fixture
def eight(tmp_path):
    return write_tokens(tmp_path / "tokens", [[10 * d + 2 + i for i in range(7)] for d in range(1, 9)])


def test_rows_cover_the_documents_of_their_side_in_order(eight, tmp_path):
    dataset = write_shards(eight, tmp_path / "shards", **SETTINGS)
    assert dataset == read_dataset(tmp_path / "shards")
    # A quarter of eight documents of nine tokens: 18 tokens are 17 targets, 4 rows; 54 are 53 targets, 13 rows.
    assert (dataset.val_documents, dataset.val_sequences, dataset.val_tokens, dataset.val_tokens_dropped) == (
        2,
        4,
        16,
        1,
    )
    assert (dataset.train_documents, dataset.train_sequences, dataset.train_tokens) == (6, 13, 52)
    assert dataset.train_tokens_dropped == 1
    val = split_documents(read_split(tmp_path / "shards", "val")[:])
    train_rows = read_split(tmp_path / "shards", "train")[:]
    order = np.random.Generator(np.random.PCG64(42))
    held_out = sorted(order.permutation(8)[:2])  # the choice, then the order of the rows, from one generator
    permutation = order.permutation(13)
    train = split_documents(train_rows[np.argsort(permutation)])
    ids = read_tokens(eight).ids.reshape(8, 9)
    assert val == ids[held_out].ravel()[:17].tolist()
    assert train == np.delete(ids, held_out, 0).ravel()[:53].tolist()
    assert not np.array_equal(permutation, np.arange(13))
    # Bytes of the validation targets: all tokens of the rows but the first.
    assert dataset.val_bytes == sum(token % 10 for token in val[1:] if token > 1)


def test_every_target_is_there_once(tokens, tmp_path):
    dataset = write_shards(tokens, tmp_path / "shards", **SETTINGS)
    stream = read_tokens(tokens)
    rows = np.concatenate([read_split(tmp_path / "shards", split)[:][:, 1:].ravel() for split in ("train", "val")])
    counted = np.bincount(rows, minlength=300)
    whole = np.bincount(stream.ids, minlength=300)
    # What is missing: the first token of each side (BOS) and what was dropped at the two ends.
    assert (whole - counted).sum() == 2 + dataset.train_tokens_dropped + dataset.val_tokens_dropped
    assert (counted <= whole).all()


def test_the_smallest_type_is_in_the_column(eight, tmp_path):
    write_shards(eight, tmp_path / "shards", **SETTINGS)
    (shard,) = json.loads((tmp_path / "shards/train/index.json").read_text())["shards"]
    assert (shard["column_names"], shard["column_encodings"]) == (["tokens"], ["ndarray:uint16:5"])
    assert list(shard["raw_data"]["hashes"]) == ["xxh64"]


def test_the_same_settings_give_the_same_bytes_and_another_seed_another_order(eight, tmp_path):
    outs = []
    for name, seed in (("a", 42), ("b", 42), ("c", 43)):
        write_shards(eight, tmp_path / name, **SETTINGS | {"seed": seed})
        outs.append({p.relative_to(tmp_path / name): p.read_bytes() for p in sorted((tmp_path / name).rglob("*.*"))})
    assert len(outs[0]) == 7 and outs[0] == outs[1] != outs[2]


def test_equal_documents_stay_on_one_side(tmp_path):
    documents = [[10 + d % 5, 20, 30] for d in range(40)]  # five different documents, eight times each
    folder = write_tokens(tmp_path / "tokens", documents)
    for seed in range(5):
        held_out = choose_held_out(document_keys(read_tokens(folder)), 0.4, np.random.default_rng(seed))
        groups = held_out.reshape(8, 5)
        assert (groups == groups[0]).all() and groups[0].sum() == 2


def test_one_document_at_least_and_never_all_are_held_out():
    keys = np.arange(10, dtype=np.uint64)
    for fraction, count in ((0.001, 1), (0.34, 3), (0.999, 9)):
        assert choose_held_out(keys, fraction, np.random.default_rng(0)).sum() == count


def test_the_choice_does_not_depend_on_the_hash():
    keys = np.random.default_rng(0).permutation(50).astype(np.uint64)
    choices = [choose_held_out(k, 0.2, np.random.default_rng(7)) for k in (keys, np.sort(keys), keys[::-1] * 3)]
    assert np.array_equal(choices[0], choices[1]) and np.array_equal(choices[0], choices[2])


def test_a_single_document_is_an_error(tmp_path):
    folder = write_tokens(tmp_path / "tokens", [[2, 3], [2, 3]])
    with pytest.raises(UserError, match="expected at least two different documents.*found 1"):
        write_shards(folder, tmp_path / "shards", **SETTINGS)


def test_a_validation_text_holds_out_nothing_but_what_it_shares(tmp_path):
    documents = [[2, 3, 4, 5, 6], [7, 8, 9, 10, 11], [12, 13, 14, 15, 16]]
    folder = write_tokens(tmp_path / "tokens", documents, validation=[[20, 21, 22, 23], [7, 8, 9, 10, 11]])
    dataset = write_shards(folder, tmp_path / "shards", **SETTINGS)
    assert (dataset.train_documents, dataset.val_documents, dataset.shared_documents_dropped) == (2, 2, 1)
    rows = read_split(tmp_path / "shards", "val")[:]
    assert rows.tolist() == [[0, 20, 21, 22, 23], [23, 1, 0, 7, 8], [8, 9, 10, 11, 1]]
    assert dataset.val_bytes == 0 + 1 + 2 + 3 + 7 + 8 + 9 + 0 + 1
    train = read_split(tmp_path / "shards", "train")[:]
    assert sorted(train[:, 1:].ravel().tolist()) == sorted([2, 3, 4, 5, 6, 1, 0, 12, 13, 14, 15, 16])


def test_too_little_text_for_a_batch_is_an_error(eight, tmp_path):
    with pytest.raises(UserError, match=r"expected at least one batch of 14 sequences of 4 tokens, found 13 \(54 tok"):
        write_shards(eight, tmp_path / "shards", **SETTINGS | {"batch": 14})
    write_shards(eight, tmp_path / "shards", **SETTINGS | {"batch": 13})


def test_too_little_validation_text_is_an_error(eight, tmp_path):
    with pytest.raises(UserError, match="expected at least two sequences of 9 tokens, for standard errors, found 9"):
        write_shards(eight, tmp_path / "shards", **SETTINGS | {"sequence_length": 9, "val_fraction": 0.1})


def test_an_unwritable_destination_is_named(eight, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file/shards: cannot be written: "):
        write_shards(eight, tmp_path / "file" / "shards", **SETTINGS)


def test_a_stream_reads_across_chosen_documents():
    tokens = Tokens(np.arange(100), np.array([0, 10, 12, 13, 40, 100]))
    documents = np.array([1, 2, 4])
    expected = np.concatenate([np.arange(10, 12), np.arange(12, 13), np.arange(40, 100)])
    stream = DocumentStream(tokens, documents)
    assert len(stream) == 63
    for start in range(0, 63):
        for stop in range(start + 1, min(start + 8, 64)):
            assert np.array_equal(stream.read(start, stop), expected[start:stop])
    starts = np.random.default_rng(0).permutation(56)
    assert np.array_equal(stream.read_rows(starts, 8), [expected[start : start + 8] for start in starts])


def test_the_bytes_are_those_of_the_library_and_of_any_block(eight, tmp_path, monkeypatch):
    from streaming import MDSWriter

    write_shards(eight, tmp_path / "shards", **SETTINGS)
    with MDSWriter(out=str(tmp_path / "library"), columns={"tokens": "ndarray:uint16:5"}, hashes=["xxh64"]) as writer:
        for row in read_split(tmp_path / "shards", "train")[:]:
            writer.write({"tokens": np.array(row, np.uint16)})
    monkeypatch.setattr("perlayer.data.shards.BLOCK_TOKENS", 10)
    write_shards(eight, tmp_path / "blocks", **SETTINGS)
    for name in ("index.json", "shard.00000.mds"):
        assert (tmp_path / "shards/train" / name).read_bytes() == (tmp_path / "library" / name).read_bytes()
    for path in (tmp_path / "shards").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "blocks" / path.relative_to(tmp_path / "shards")).read_bytes()


def test_good_shards_verify(shards):
    verify_shards(shards)
    assert read_bytes_per_token(shards).shape == (read_dataset(shards).vocab_size,)


@pytest.mark.parametrize("name", ["train/shard.00000.mds", "val/shard.00000.mds", "train/index.json", "val/index.json"])
def test_files_of_a_split_that_are_damaged_or_gone_are_named(shards, name):
    content = bytearray((shards / name).read_bytes())
    content[-5] ^= 1
    (shards / name).write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: damaged: "):
        verify_shards(shards)
    (shards / name).unlink()
    with pytest.raises(UserError, match=f"{name}: no such file"):
        verify_shards(shards)


@pytest.mark.parametrize(
    ("name", "read"), [("dataset.json", read_dataset), ("bytes_per_token.npy", read_bytes_per_token)]
)
def test_what_describes_the_shards_is_named_where_it_is_damaged_or_gone(shards, name, read):
    (shards / name).write_bytes(b"{}")
    with pytest.raises(UserError, match=f"{name}: damaged: "):
        read(shards)
    (shards / name).unlink()
    with pytest.raises(UserError, match=f"{name}: no such file"):
        read(shards)
