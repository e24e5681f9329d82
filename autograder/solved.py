"""Solved notebooks: the reference and the model answers in place of the stubs, executed. For after the deadline."""

import tempfile
from pathlib import Path

from nbclient import NotebookClient

from autograder.compile import NOTEBOOKS, as_json, compile_chapter, filename


def write_solved(chapter, folder):
    """Write a chapter's solved notebook into a folder, outputs included; returns its path.

    Raises ValueError for a file, and for the folder of the student notebooks.
    """
    path = Path(folder).resolve() / filename(chapter)
    if path.parent.is_file():
        raise ValueError(f"{folder} is a file; solved notebooks go into a folder")
    if path.parent == NOTEBOOKS:
        raise ValueError(f"{folder} holds the student notebooks; give the solved ones another folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = compile_chapter(chapter, solved=True)
    with tempfile.TemporaryDirectory() as quiet:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": quiet}}).execute()
    path.write_text(as_json(notebook), "utf-8", newline="\n")
    return path
