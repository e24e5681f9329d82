"""A class's kit holds all that its checks need, and nothing from which this chapter's answers can be read."""

import ast
import gzip
import json
import os
import re
import subprocess
import sys
import sysconfig

import pytest

from autograder.compile import as_json, compile_chapter, filename
from autograder.exercises import chapters, exercises, find, questions, uses
from autograder.judge import judge
from autograder.key import PUBLIC_SEED, Key, key_of, outcomes_of
from autograder.kit import STUDENT_SIDE, write_kit

EVERY = [exercise.name for chapter in chapters() for exercise in exercises(chapter)]
MOST_BYTES = 2_000_000
# A student's machine has not installed the course: without `site`, only what PYTHONPATH names can be imported.
PYTHON_WITHOUT_THE_COURSE = [sys.executable, "-S"]
OTHERS_ONLY = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}),
}
GIVE_AWAY = 12  # characters of an expression, without spaces, that say what to write


kits = {}


def kit_of(factory, chapter):
    """The folder with a chapter's kit, written once for all tests. They only read it."""
    if chapter not in kits:
        kits[chapter] = factory.mktemp("kit") / chapter
        write_kit(chapter, kits[chapter])
    return kits[chapter]


@pytest.fixture(params=chapters())
def kit(request, tmp_path_factory):
    return request.param, kit_of(tmp_path_factory, request.param)


def without_spaces(text):
    return re.sub(r"\s+", "", text)


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def text_of(path):
    """All that a file says, in plain characters."""
    if path.name.endswith(".json.gz"):
        return "\n".join(strings_in(json.loads(gzip.decompress(path.read_bytes()))))
    if path.suffix == ".ipynb":
        return "\n".join(strings_in(json.loads(path.read_text("utf-8"))))
    return path.read_text("utf-8")


def strings_in(data):
    if isinstance(data, str):
        yield data
    elif isinstance(data, list) and all(isinstance(each, str) for each in data):
        yield " ".join(data)  # a notebook's lines
    elif isinstance(data, (list, dict)):
        for each in data.values() if isinstance(data, dict) else data:
            yield from strings_in(each)


def answers_of(chapter):
    """{what a reference's body computes or returns, without spaces: the exercise}. What the stub says is no answer."""
    found = {}
    for exercise in exercises(chapter):
        source, given = exercise.answer_source, without_spaces(exercise.stub)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Assign, ast.Return)) and node.value is not None:
                code = without_spaces(ast.get_source_segment(source, node.value))
                if len(code) >= GIVE_AWAY and code not in given:
                    found[code] = exercise.name
    return found


def test_no_file_holds_an_answer(kit):
    chapter, folder = kit
    answers = answers_of(chapter)
    assert {exercise.name for exercise in exercises(chapter)} <= set(answers.values())
    leaks = []
    for path in files_of(folder):
        if path.parent.name != "solutions":  # the earlier chapters, which it is given
            text = without_spaces(text_of(path))
            leaks += [f"{path.name}: {name}: {code}" for code, name in answers.items() if code in text]
    assert not leaks, "\n".join(leaks)


def test_no_file_holds_a_line_of_a_reference(kit):
    chapter, folder = kit
    lines = []
    for exercise in exercises(chapter):
        bare = [line.split("  #")[0].strip() for line in exercise.answer_source.splitlines()]
        lines += [
            line for line in bare if len(line) >= 20 and without_spaces(line) not in without_spaces(exercise.stub)
        ]
    assert len(lines) >= len(exercises(chapter))
    for path in files_of(folder):
        if path.parent.name != "solutions":
            text = without_spaces(text_of(path))
            assert [line for line in lines if without_spaces(line) in text] == [], path.name


def test_no_file_holds_a_model_answer_or_a_rubric(kit):
    chapter, folder = kit
    secret = [
        sentence.strip("- ")
        for question in questions(chapter)
        for sentence in re.split(r"\.\s|\n", f"{question.answer}\n{question.rubric}")
        if len(sentence) > 20
    ]
    assert len(secret) >= 5
    for path in files_of(folder):
        text = without_spaces(text_of(path))
        assert [sentence for sentence in secret if without_spaces(sentence) in text] == [], path.name


def test_hints_are_those_of_the_exam_and_stand_in_the_record_alone(kit):
    chapter, folder = kit
    packed = (folder / "autograder" / "recorded" / f"{chapter}.json.gz").read_bytes()
    records = {record["name"]: record for record in json.loads(gzip.decompress(packed))}
    assert list(records) == [exercise.name for exercise in exercises(chapter)]
    for exercise in exercises(chapter):
        record = records[exercise.name]
        assert record["hints"] == list(exercise.hints)
        told = {hint for hints, _ in record["known"] for hint in hints}
        assert told == {mistake.hint for mistake in exercise.mistakes}
    notebook = text_of(folder / filename(chapter))
    assert not [hint for exercise in exercises(chapter) for hint in exercise.hints if hint in notebook]


def test_it_holds_the_student_side_and_nothing_else(kit):
    chapter, folder = kit
    earlier = chapters()[: chapters().index(chapter)]
    wanted = {filename(chapter), f"autograder/recorded/{chapter}.json.gz", "solutions/__init__.py"}
    wanted |= {f"autograder/{name}.py" for name in STUDENT_SIDE} | {f"solutions/{name}.py" for name in earlier}
    assert {path.relative_to(folder).as_posix() for path in files_of(folder)} == wanted
    assert (folder / filename(chapter)).read_text("utf-8") == as_json(compile_chapter(chapter))


def test_it_is_small(kit):
    _, folder = kit
    assert sum(path.stat().st_size for path in files_of(folder)) < MOST_BYTES


def test_earlier_chapters_can_be_imported_and_this_one_cannot(kit):
    chapter, folder = kit
    position = chapters().index(chapter)
    code = "import importlib, sys\nprint(importlib.import_module(sys.argv[1]).__file__)"
    for number, name in enumerate(chapters()):
        command = [*PYTHON_WITHOUT_THE_COURSE, "-c", code, f"solutions.{name}"]
        imported = subprocess.run(command, cwd=folder, env=OTHERS_ONLY, capture_output=True, text=True, check=False)
        if number < position:
            assert imported.stdout.strip() == str(folder / "solutions" / f"{name}.py"), imported.stderr
        else:
            assert f"No module named 'solutions.{name}'" in imported.stderr


def test_the_same_kit_comes_out_byte_by_byte_and_nothing_of_an_older_one_stays(kit, tmp_path):
    chapter, folder = kit
    again = tmp_path / "again"
    stale = [again / "solutions" / f"{chapter}.py", again / "autograder" / "judge_old.py"]
    for path in stale:
        path.parent.mkdir(parents=True)
        path.write_text("secret = 1\n")
    (again / "data.csv").write_text("1,2\n")
    write_kit(chapter, again)
    assert (again / "data.csv").read_text() == "1,2\n"  # what the instructor added stays
    (again / "data.csv").unlink()
    first, second = files_of(folder), files_of(again)
    assert [path.relative_to(folder) for path in first] == [path.relative_to(again) for path in second]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_a_chapter_that_does_not_exist_has_no_kit(tmp_path):
    with pytest.raises(ValueError, match=r"no chapter 'cooking'; there are: attention_weights, self_attention"):
        write_kit("cooking", tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", EVERY)
def test_the_record_judges_as_the_reference_does(name, tmp_path_factory):
    exercise = find(name)
    live = key_of(exercise, PUBLIC_SEED, uses=uses(name))
    packed = (kit_of(tmp_path_factory, exercise.chapter) / "autograder" / "recorded").glob("*.json.gz")
    records = [record for path in packed for record in json.loads(gzip.decompress(path.read_bytes()))]
    [recorded] = [Key(**record) for record in records if record["name"] == name]
    assert recorded.hints == live.hints and recorded.uses == live.uses and recorded.shows == live.shows
    alone = len(exercise.mistakes)
    tried = [list(outcomes) for _, outcomes in [*live.known[:alone], *live.known[alone::9]]]  # and some pairs
    tried.append(outcomes_of(exercise, exercise.of, live.request))
    tried.append(outcomes_of(exercise, exercise.run_source(exercise.stub), live.request))
    for outcomes in tried:
        outcomes = json.loads(json.dumps(outcomes))
        assert judge(recorded, outcomes) == judge(live, outcomes)
    for mistake, outcomes in zip(exercise.mistakes, tried, strict=False):
        assert judge(recorded, outcomes).hints == (mistake.hint,)
