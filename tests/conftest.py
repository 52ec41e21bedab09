"""Every test alike: no setting of this machine, no network, a constant number of threads, a TMPDIR of its own."""

import contextlib
import gc
import os
import tempfile
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest
from own_git import use_own_git

# At import, before any test module: libraries read these when they are first imported.
for name in [name for name in os.environ if name.startswith(("PERLAYER_", "AWS_", "S3_"))]:
    del os.environ[name]
os.environ.update(
    PYTHONPATH=str(Path(__file__).parents[1] / "src"),  # for the processes that tests start
    OMP_NUM_THREADS="1",  # tests run side by side, and more threads may sum in another order
    HF_HUB_OFFLINE="1",
    MPLBACKEND="agg",
    DVC_NO_ANALYTICS="true",
)
use_own_git()

MANY_FILES = 1000


@pytest.fixture(autouse=True)
def own_tmpdir(monkeypatch, tmp_path_factory):
    """A TMPDIR for this test alone: streaming leaves lock files there. Its path is short, since sockets stand in it."""
    tmp_path_factory.getbasetemp()  # settled before TMPDIR changes
    with tempfile.TemporaryDirectory(prefix="perlayer-", ignore_cleanup_errors=True) as path:
        monkeypatch.setenv("TMPDIR", path)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield
    if os.path.isdir("/proc/self/fd") and len(os.listdir("/proc/self/fd")) > MANY_FILES:
        close_shared_memory()


def close_shared_memory():
    """Close the shared memory that ended trainings leave open: two files each, the other is that of its `mmap`.

    Streaming keeps them until its process ends, and each new loader opens those of all earlier ones once more.
    """
    gc.collect()
    for each in gc.get_objects():
        if isinstance(each, SharedMemory):
            with contextlib.suppress(BufferError):  # of a loader that is still there
                each.close()


TEXTS = [f"Document {n} tells of the number {n * 7} and of the letter {chr(97 + n % 26)}. " * 3 for n in range(120)]


@pytest.fixture(scope="session")
def small_shards(tmp_path_factory):
    """Shards of a small text of our own: 300 tokens, sequences of 16."""
    from perlayer.data.corpus import build_corpus
    from perlayer.data.shards import write_shards
    from perlayer.data.tokens import tokenize

    folder = tmp_path_factory.mktemp("shards")
    (folder / "texts.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    build_corpus(str(folder / "texts.jsonl"), "text", folder / "corpus")
    tokenize(folder / "corpus", None, 300, folder / "tokenizer", folder / "tokens")
    write_shards(folder / "tokens", folder / "shards", val_fraction=0.1, sequence_length=16, seed=42, batch=4)
    return folder / "shards"


@pytest.fixture(scope="session")
def write_published_text():
    """A function that writes, beside a published model over bytes in `folder`/model, its tokenizer and shards."""
    from byte_tokenizer import write_tokenizer

    from perlayer.data.corpus import build_corpus
    from perlayer.data.shards import write_shards
    from perlayer.data.tokens import tokenize_as_published

    def write(folder, length, batch):
        write_tokenizer(folder / "model")
        lines = (f'{{"text": "Document {number} says {number * 7}."}}\n' for number in range(60))
        (folder / "texts.jsonl").write_text("".join(lines))
        build_corpus(str(folder / "texts.jsonl"), "text", folder / "corpus")
        tokenize_as_published(folder / "corpus", str(folder / "model"), 257, folder / "tokens")
        write_shards(
            folder / "tokens", folder / "shards", val_fraction=0.2, sequence_length=length, seed=42, batch=batch
        )

    return write


@pytest.fixture(scope="session")
def small_published(tmp_path_factory, write_published_text):
    """A random Llama of two layers over bytes, and shards of 16 tokens of a text in its tokens."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("published")
    torch.manual_seed(0)
    shape = dict(vocab_size=257, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2)
    LlamaForCausalLM(LlamaConfig(**shape, max_position_embeddings=16)).save_pretrained(folder / "model")
    write_published_text(folder, length=16, batch=4)
    return folder


@pytest.fixture(scope="session")
def one_store(request):
    from s3_store import Store, python_with_moto

    store = Store(python_with_moto(request.config.cache.mkdir("moto")))
    yield store
    store.stop()


@pytest.fixture
def store(one_store, monkeypatch):
    """A store of the kind of S3 that runs, which the environment names and gives access to."""
    for name, value in one_store.environment.items():
        monkeypatch.setenv(name, value)
    one_store.start()
    return one_store


@pytest.fixture
def interrupt_at(monkeypatch):
    """A function that ends the next training after `count` of its updates; returns the steps that are then taken."""

    def interrupt_at(count):
        from perlayer.training.layer_log import LayerLog

        steps = []
        real = LayerLog.batch_end

        def stop(self, state, logger):
            real(self, state, logger)
            steps.append(state.timestamp.batch.value)
            if len(steps) == count:
                raise KeyboardInterrupt

        monkeypatch.setattr(LayerLog, "batch_end", stop)
        return steps

    return interrupt_at
