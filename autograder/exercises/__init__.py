"""The registry: every chapter's exam, found by name, in the order of the book's table of contents."""

import importlib
import inspect
from functools import cache
from pathlib import Path

import yaml

from autograder.exercise import Exercise, Question

ROOT = Path(__file__).resolve().parents[2]


@cache
def chapters():
    """The names of the chapters that have an exam, in the book's order."""
    toc = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text("utf-8"))
    named = [Path(entry["file"]).name for entry in toc["chapters"]]
    return [name for name in named if (Path(__file__).parent / f"{name}.py").exists()]


def known_chapter(name):
    """The name itself. Raises ValueError, listing the chapters, when there is no such chapter."""
    if name not in chapters():
        raise ValueError(f"there is no chapter {name!r}; there are: {', '.join(chapters())}")
    return name


def exam(chapter):
    """The module with a chapter's exam."""
    return importlib.import_module(f"autograder.exercises.{known_chapter(chapter)}")


@cache
def exercises(chapter):
    """A chapter's exercises, in the order in which the exam defines them."""
    own = [
        value
        for value in vars(exam(chapter)).values()
        if inspect.isclass(value) and issubclass(value, Exercise) and value.__module__ == exam(chapter).__name__
    ]
    return [exercise() for exercise in own]


def questions(chapter):
    """A chapter's written questions."""
    return [question for question in getattr(exam(chapter), "QUESTIONS", ()) if isinstance(question, Question)]


def find(name):
    """The exercise of that name. Raises KeyError, naming the exercises, when there is none."""
    for chapter in chapters():  # a later chapter is read only when it must be: it may import torch
        for exercise in exercises(chapter):
            if exercise.name == name:
                return exercise
    every = ", ".join(exercise.name for chapter in chapters() for exercise in exercises(chapter))
    raise KeyError(f"there is no exercise {name!r}; there are: {every}")


@cache
def uses(name):
    """The exercises that an exercise's reference calls, directly or through one another, first things first.

    They are of its own chapter or of one before it.
    """
    found, exercise = [], find(name)
    for chapter in chapters()[: chapters().index(exercise.chapter) + 1]:
        for other in exercises(chapter):
            if other.name in exercise.names_used:
                found += [deeper for deeper in (*uses(other.name), other.name) if deeper not in found]
    return found
