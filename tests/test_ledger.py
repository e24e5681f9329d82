"""What the chapters quote is what the papers and the recorded runs say: book/ledger.yml, in every edition."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from pybtex.database import parse_file

BOOK = Path(__file__).resolve().parents[1] / "book"
LEDGER = yaml.safe_load((BOOK / "ledger.yml").read_text("utf-8"))
ENTRIES = LEDGER["papers"] + LEDGER["runs"]
PAGES = [(path.parent.name, path.stem) for path in sorted(BOOK.glob("[a-z][a-z]/*.md"))]
CHAPTERS = [page for page in PAGES if page[1] in {entry["chapter"] for entry in ENTRIES}]
CODE_CELL = re.compile(r"^(`{3,})\{code-cell\}.*?^\1$", re.MULTILINE | re.DOTALL)
NUMBERED = {"en": re.compile(r"\b(Table|Figure) (\d+)"), "zh": re.compile(r"([表图])\s*(\d+)")}
ENGLISH = {"表": "Table", "图": "Figure"}


@cache
def source(edition, chapter):
    return (BOOK / edition / f"{chapter}.md").read_text("utf-8")


@cache
def prose(edition, chapter):
    """The text of a chapter without its code cells and without white space: lines may break anywhere."""
    return squeezed(CODE_CELL.sub("", source(edition, chapter)))


def squeezed(text):
    return "".join(text.split())


@cache
def run(name):
    return json.loads((BOOK / "runs" / f"{name}.json").read_text("utf-8"))


def entries_of(chapter, kind):
    return [entry for entry in LEDGER[kind] if entry["chapter"] == chapter]


def numbers(name, path):
    """What lies in a run at the end of a path, as an array."""

    def follow(value, steps):
        if not steps:
            return value
        step, rest = steps[0], steps[1:]
        if step == "*":
            return [follow(item, rest) for item in value]
        if isinstance(step, dict):
            ((axis, position),) = step.items()
            step = run(name)["results"][axis].index(position)
        return follow(value[step], rest)

    return np.array(follow(run(name), path), dtype=float)


def on_diagonal(matrices, offset=0):
    return np.diagonal(matrices, offset, axis1=-2, axis2=-1)


TAKE = {
    "count": np.size,
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "geometric mean": lambda values: np.exp(np.log(values).mean()),
    "mean on the diagonal": lambda matrix: on_diagonal(matrix).mean(),
    "mean next to the diagonal": lambda matrix: sum(on_diagonal(matrix, side).sum() for side in (-1, 1)) / len(matrix),
    "rows with their maximum on the diagonal": lambda matrix: (matrix.argmax(axis=-1) == np.arange(len(matrix))).sum(),
}


def value_of(entry):
    values = numbers(entry["run"], entry["path"])
    if "over" in entry:
        values = values / numbers(entry["run"], entry["over"])
    return float(TAKE[entry["take"]](values) if "take" in entry else values.item())


def half_a_unit(printed):
    """A printed figure, and the most by which a number that rounds to it may differ."""
    unit = 0.01 if printed.endswith("%") else 1.0
    digits = printed.rstrip("%")
    decimals = len(digits.partition(".")[2])
    return float(digits) * unit, 0.5 * unit * 10**-decimals


@pytest.mark.parametrize(("edition", "chapter"), CHAPTERS)
def test_every_fragment_stands_in_its_chapter(edition, chapter):
    entries = [entry for entry in ENTRIES if entry["chapter"] == chapter]
    without = [str(entry) for entry in entries if edition not in entry]
    assert not without, f"entries without the text of the edition {edition!r}:\n" + "\n".join(without)
    missing = [entry[edition] for entry in entries if squeezed(entry[edition]) not in prose(edition, chapter)]
    assert not missing, f"not in book/{edition}/{chapter}.md:\n" + "\n".join(missing)


@pytest.mark.parametrize(("edition", "chapter"), CHAPTERS)
def test_papers_are_in_the_bibliography_and_cited(edition, chapter):
    known = parse_file(str(BOOK / "references.bib")).entries
    roles = re.findall(r"\{cite:[tp]\}`([^`]+)`", source(edition, chapter))
    cited = {key.strip() for keys in roles for key in keys.split(",")}
    assert cited <= set(known)
    assert {entry["paper"] for entry in entries_of(chapter, "papers")} <= cited


@pytest.mark.parametrize("entry", LEDGER["runs"], ids=lambda entry: f"{entry['run']}: {entry['en'][:60]}")
def test_the_number_of_the_run_is_the_printed_one(entry):
    assert ("prints" in entry) != ("says" in entry)
    value = value_of(entry)
    if "says" in entry:
        low, high = entry["says"]
        assert low <= value <= high
    else:
        printed, slack = half_a_unit(entry["prints"])
        assert abs(value - printed) <= slack * (1 + 1e-9), f"the run says {value:.6g}"
        assert all(entry["prints"] in entry[edition] for edition, name in CHAPTERS if name == entry["chapter"])


@pytest.mark.parametrize(("edition", "chapter"), CHAPTERS)
def test_no_percentage_stands_outside_the_ledger(edition, chapter):
    text = prose(edition, chapter)
    for entry in ENTRIES:
        if entry["chapter"] == chapter:
            text = text.replace(squeezed(entry[edition]), "…")
    found = [text[max(0, hit.start() - 40) : hit.end() + 20] for hit in re.finditer(r"\d\\?[%％]", text)]
    assert not found, "figures without a source:\n" + "\n".join(found)


@pytest.mark.parametrize(("edition", "chapter"), CHAPTERS)
def test_every_table_and_figure_of_a_paper_is_in_the_ledger(edition, chapter):
    places = " ".join(entry["where"] for entry in entries_of(chapter, "papers"))
    text = CODE_CELL.sub("", source(edition, chapter))
    quoted = {f"{ENGLISH.get(kind, kind)} {number}" for kind, number in NUMBERED[edition].findall(text)}
    assert not [place for place in quoted if not re.search(rf"\b{place}\b", places)]


@pytest.mark.parametrize(("edition", "chapter"), PAGES)
def test_a_run_that_a_chapter_shows_is_in_the_ledger(edition, chapter):
    shown = set(re.findall(r"read_run\(\"(\w+)\"\)", source(edition, chapter)))
    assert shown == {entry["run"] for entry in entries_of(chapter, "runs")}
