"""The student's kit: a chapter's notebook and all that its checks need, with nothing to read the answers from."""

import gzip
import json
import shutil
from pathlib import Path

from autograder.compile import as_json, compile_chapter, filename
from autograder.exercises import ROOT, chapters, exercises, known_chapter, uses
from autograder.key import PUBLIC_SEED, key_of

STUDENT_SIDE = ("__init__", "check", "compare", "judge", "key", "probe", "report")


def write_kit(chapter, folder):
    """Write the kit of a chapter into a folder, which may exist; returns the notebook's path.

    The kit holds the notebook, the student's side of the autograder with the recorded outputs of the public cases,
    and the solutions of the chapters before this one.
    """
    position, folder = chapters().index(known_chapter(chapter)), Path(folder)
    for part in ("autograder", "solutions"):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir(parents=True)
    for name in STUDENT_SIDE:
        shutil.copyfile(ROOT / "autograder" / f"{name}.py", folder / "autograder" / f"{name}.py")
    for name in ("__init__", *chapters()[:position]):
        shutil.copyfile(ROOT / "solutions" / f"{name}.py", folder / "solutions" / f"{name}.py")
    record(chapter, folder / "autograder" / "recorded" / f"{chapter}.json.gz")
    notebook = folder / filename(chapter)
    notebook.write_text(as_json(compile_chapter(chapter)), "utf-8", newline="\n")
    return notebook


def record(chapter, path):
    """Record what the reference and every known mistake give on the public cases: the same bytes on every run."""
    keys = [key_of(exercise, PUBLIC_SEED, uses=uses(exercise.name)).record() for exercise in exercises(chapter)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(json.dumps(keys, separators=(",", ":")).encode())
