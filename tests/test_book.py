"""The built book: it needs no outside host, shows every exercise's stub, and holds no answer in any of its files."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

from autograder.exercises import find

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
CHAPTERS = [entry["file"] for entry in yaml.safe_load((BOOK / "_toc.yml").read_text("utf-8"))["chapters"]]
EXERCISE_CELL = re.compile(r"^:tags:.*\bexercise\b.*\n+from solutions\.\w+ import (\w+)$", re.MULTILINE)
NOT_A_RESOURCE = {"author", "canonical", "index", "license", "next", "prev", "search"}
OUTSIDE = re.compile(r"^\s*(https?:)?//", re.IGNORECASE)


def exercises_of(chapter):
    return EXERCISE_CELL.findall((BOOK / f"{chapter}.md").read_text("utf-8"))


EXERCISES = [(chapter, name) for chapter in CHAPTERS for name in exercises_of(chapter)]


@pytest.fixture(scope="session", autouse=True)
def built():
    """Build the book as `make book` does, unless the last build had no warning and is newer than all it is made of."""
    sources = [*BOOK.glob("_*/*.*"), *BOOK.glob("_*.yml"), *BOOK.glob("e*/*.md"), *BOOK.glob("runs/*.json")]
    sources += [*BOOK.glob("*.bib"), *ROOT.glob("solutions/*.py"), *ROOT.glob("notebooks/*.ipynb")]
    sources += ROOT.glob("autograder/exercises/*.py")
    stamp = BOOK / "_build" / ".doctrees" / "environment.pickle"  # a build with warnings leaves none
    if stamp.exists() and stamp.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "book", "-W", "-n", "--keep-going"]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout[-3000:] + build.stderr[-3000:]


@cache
def page(path):
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def pages():
    return sorted(HTML.rglob("*.html"))


def without_spaces(text):
    return re.sub(r"\s+", "", text)


def test_no_page_fetches_anything_from_elsewhere():
    found = []
    for path in pages():
        for tag in page(path).find_all(True):
            loads = [tag.get(name) or "" for name in ("src", "srcset", "data", "poster")]
            if tag.name == "link" and not NOT_A_RESOURCE & set(tag.get("rel", [])):
                loads.append(tag.get("href") or "")
            if tag.name == "script" and not tag.get("src") and re.search(r"https?://", tag.string or ""):
                loads.append("https://an-inline-script")
            found += [f"{path.name}: {str(tag)[:200]}" for load in loads if OUTSIDE.match(load)]
    assert not found, "\n".join(found)


def test_no_style_sheet_fetches_anything_from_elsewhere():
    sheets = {path: path.read_text("utf-8") for path in HTML.rglob("*.css")}
    for path in pages():
        sheets[path] = "\n".join([*(tag.string or "" for tag in page(path)("style"))])
        sheets[path] += "\n".join(tag["style"] for tag in page(path)(style=True))
    for path, css in sheets.items():
        loads = re.findall(r"""(?:url\(\s*|@import\s+)["']?([^"')]+)""", css)
        assert not [load for load in loads if OUTSIDE.match(load)], path


@pytest.mark.parametrize(("chapter", "name"), EXERCISES)
def test_the_chapter_shows_the_stub_and_its_points(chapter, name):
    box = page(HTML / f"{chapter}.html").find(id=f"exercise-{name}".replace("_", "-").lower())
    assert box, f"no box for {name}"
    assert without_spaces(find(name).stub) == without_spaces(box.find("pre").get_text())
    assert box.select_one(".points").get_text().split()[0] == str(find(name).points)


def text_of(path):
    """All that a file says, in plain characters: markup and JSON escapes would hide an answer from a search."""
    text = path.read_bytes().decode("utf-8", errors="ignore")
    if path.suffix == ".html":
        return BeautifulSoup(text, "html.parser").get_text()
    if path.suffix == ".ipynb":
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def answer_lines(name):
    """The lines of a reference that are not in its stub and say enough to be an answer."""
    exercise = find(name)
    given = without_spaces(exercise.stub)
    lines = [without_spaces(line.split("  #")[0]) for line in exercise.answer_source.splitlines()]
    return [line for line in lines if len(line) >= 24 and line not in given]


def test_no_file_of_the_site_holds_an_answer():
    answers = {line: name for _, name in EXERCISES for line in answer_lines(name)}
    assert answers
    leaks = []
    for path in HTML.rglob("*"):
        if path.is_file() and not path.is_relative_to(HTML / "_static"):
            text = without_spaces(text_of(path))
            leaks += [f"{path.relative_to(HTML)}: {name}: {line}" for line, name in answers.items() if line in text]
    assert not leaks, "\n".join(leaks)
    assert not (HTML / "_sources").exists()


def test_links_within_the_site_resolve():
    broken = []
    for path in pages():
        if path.is_relative_to(HTML / "_static"):
            continue
        for tag in page(path)(["a", "img", "link", "script"]):
            link = urlsplit(tag.get("href") or tag.get("src") or "")
            if link.scheme or link.netloc or not (link.path or link.fragment):
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            found = target.is_file()
            if found and link.fragment and target.suffix == ".html":
                found = page(target).find(id=unquote(link.fragment)) is not None
            if not found:
                broken.append(f"{path.relative_to(HTML)} -> {link.geturl()}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("position", range(len(CHAPTERS)))
def test_the_chapter_offers_its_notebook(position):
    chapter = CHAPTERS[position]
    path = HTML / f"{chapter}.html"
    link = page(path).select_one("a.download-notebook")
    assert link, "the page offers no notebook: has `make notebooks` been run?"
    notebook = (path.parent / link["href"]).resolve()
    assert notebook == HTML / "notebooks" / f"{position + 1:02}_{Path(chapter).name}.ipynb"
    assert notebook.read_bytes() == (ROOT / "notebooks" / notebook.name).read_bytes()


@pytest.mark.parametrize("show_answers", [False, True])
def test_answers_appear_where_asked_for_and_only_there(show_answers, monkeypatch):
    monkeypatch.syspath_prepend(BOOK / "_ext")
    from course_exercises import box_exercises

    chapter, name = EXERCISES[0]
    app = SimpleNamespace(
        config=SimpleNamespace(show_answers=show_answers),
        env=SimpleNamespace(note_dependency=lambda path: None),
        srcdir=BOOK,
    )
    line = f"from solutions.{Path(chapter).name} import {name}"
    source = [f"```{{code-cell}} ipython3\n:tags: [exercise]\n\n{line}\n```\n"]
    box_exercises(app, chapter, source)
    assert f"Exercise: `{name}`" in source[0]
    assert all((line in without_spaces(source[0])) is show_answers for line in answer_lines(name))
