"""Solved notebooks: the reference and the model answers in place of the stubs, executed. For after the deadline."""

import tempfile
from pathlib import Path

from nbclient import NotebookClient

from autograder.compile import as_json, compile_chapter, filename


def write_solved(chapter, folder):
    """Write a chapter's solved notebook into a folder, outputs included; returns its path."""
    notebook = compile_chapter(chapter, solved=True)
    with tempfile.TemporaryDirectory() as quiet:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": quiet}}).execute()
    path = Path(folder) / filename(chapter)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(notebook), "utf-8", newline="\n")
    return path
