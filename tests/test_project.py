"""The project holds together: one list of dependencies, commands that exist, nothing of this machine in its files."""

import ast
import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from autograder.cli import app
from autograder.exercises import ROOT, chapters, exercises

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
README = (ROOT / "README.md").read_text("utf-8")
MOST_BYTES = 3_000_000
REGISTRIES = ("pypi.org", "pythonhosted.org", "download.pytorch.org", "conda.anaconda.org", "/simple/")
CORE = ("exercise", "probe", "compare", "judge", "key")  # they know no notebook, no nbgrader and no screen


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def pins():
    lines = [line.partition("#")[0].strip() for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()]
    found = [Requirement(line) for line in lines if line]
    return {canonicalize_name(each.name): each.specifier for each in found}


def dependencies():
    extras = [each for several in PROJECT["optional-dependencies"].values() for each in several]
    return [Requirement(each) for each in [*PROJECT["dependencies"], *extras]]


def environment():
    """The plain lines of environment.yml, and those for pip."""
    listed = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    return [each for each in listed if isinstance(each, str)], next(each for each in listed if isinstance(each, dict))


def test_conda_gets_python_pip_make_and_this_project_alone():
    plain, for_pip = environment()
    assert [re.split(r"[=<>]", each)[0] for each in plain] == ["python", "pip", "make"]
    python = re.search(r"[\d.]+$", plain[0])[0]
    assert SpecifierSet(PROJECT["requires-python"]).contains(python)
    assert [*for_pip] == ["pip"]
    options = dict(shlex.split(line) for line in for_pip["pip"])
    assert set(options) == {"--constraint", "--editable"}
    assert (ROOT / options["--constraint"]).is_file()
    place, _, extra = options["--editable"].rstrip("]").partition("[")
    assert place == "." and extra in PROJECT["optional-dependencies"]


def test_there_is_one_list_of_dependencies():
    lists = {"requirements.txt", "setup.py", "setup.cfg", "Pipfile", "conda.yml", "poetry.lock"}
    assert not [path for path in tracked() if path.name in lists]
    assert f'--editable ".[{"test"}]"' in (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.parametrize("dependency", dependencies(), ids=lambda each: each.name)
def test_each_dependency_is_pinned_and_installed_as_pinned(dependency):
    pin = pins()[canonicalize_name(dependency.name)]
    [version] = [each.version for each in pin]
    assert str(pin).startswith("==") and dependency.specifier.contains(version)
    assert pin.contains(importlib.metadata.version(dependency.name))


def imported_by(path):
    """The modules that a Python file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_whatever_we_import_is_pinned():
    files = [path for path in ROOT.glob("*/**/*.py") if not {".venv", "build", "_build"} & set(path.parts)]
    own = {"autograder", "solutions", "tests"} | {path.stem for path in files}
    distributions, pinned = importlib.metadata.packages_distributions(), pins()
    for path in files:
        for name in {module.partition(".")[0] for module in imported_by(path)} - own - set(sys.stdlib_module_names):
            known = [canonicalize_name(each) for each in distributions.get(name, [])]
            assert set(known) & set(pinned), f"{path.relative_to(ROOT)} imports {name}, which constraints.txt lacks"


def test_the_reference_imports_nothing_of_ours():
    for path in ROOT.glob("solutions/**/*.py"):
        foreign = {module.partition(".")[0] for module in imported_by(path)} - set(sys.stdlib_module_names)
        assert foreign <= {"numpy", "torch"}, path.name


@pytest.mark.parametrize("module", CORE)
def test_the_core_knows_no_notebook_no_nbgrader_and_no_screen(module):
    own = {f"autograder.{name}" for name in CORE}
    for name in imported_by(ROOT / "autograder" / f"{module}.py"):
        assert name in own or name.partition(".")[0] in {"numpy", *sys.stdlib_module_names}, name
    code = f"import sys, autograder.{module}\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"IPython", "ipykernel", "nbformat", "nbgrader", "rich", "torch"} & set(loaded.stdout.split())


def test_no_two_exercises_share_a_name():
    names = [exercise.name for chapter in chapters() for exercise in exercises(chapter)]
    assert len(set(names)) == len(names)


def test_no_file_tells_of_a_machine_or_a_registry():
    places = {f"{ROOT}/", f"{Path.home()}/", f"{sys.prefix}/"} - {"//"}
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        if path != Path(__file__) and "vendor" not in path.parts:
            assert not [each for each in (*places, *REGISTRIES) if each in text], path.relative_to(ROOT)


def test_no_file_is_large():
    assert not [path.name for path in tracked() if path.stat().st_size > MOST_BYTES]


def test_the_commands_of_the_readme_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake (\w+)", README))
    assert {"course", "test", "book", "notebooks"} <= named <= targets
    commands = {each.name or each.callback.__name__ for each in app.registered_commands}
    used = set(re.findall(r"(?:bin/|`)course (\w+)", README))
    assert {"init", "release", "grade", "check", "verify", "notebooks"} <= used <= commands


def test_the_files_of_the_readme_exist():
    tree = re.search(r"## Where things are\n+```\n(.*?)```", README, re.DOTALL)[1]
    folder = ROOT
    for line in tree.splitlines():
        indent, name = re.match(r"( *)(\S*)", line).groups()
        if len(indent) > 2:
            continue  # the explanation goes on
        folder = ROOT if not indent else folder
        assert (folder / name).exists(), name
        folder = folder / name if not indent else folder
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_continuous_check_runs_the_tests():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK) and "make test" in script.read_text("utf-8")


@pytest.mark.parametrize("arguments", [["check"], ["format", "--check"]])
def test_the_code_keeps_to_its_style(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
