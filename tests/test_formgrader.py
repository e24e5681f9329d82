"""Formgrader, in a real Jupyter server: its pages show the marks, and its button grades."""

import json
import socket
import subprocess
import time
import urllib.request

import pytest
from bs4 import BeautifulSoup
from classwork import BIN, CHAPTER, NOTEBOOK, OUTSIDE, autograded, lost
from test_grading import assert_harmless, plain

from autograder.exercises import questions

NAME = NOTEBOOK.removesuffix(".ipynb")
TOKEN = "for-a-test"


class Server:
    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"

    def fetch(self, path, data=None):
        headers = {"Authorization": f"token {TOKEN}"}
        request = urllib.request.Request(f"{self.address}/formgrader/{path}", data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.read().decode("utf-8")

    def submission(self, student):
        """The page on which a submission is marked."""
        every = json.loads(self.fetch(f"api/submitted_notebooks/{CHAPTER}/{NAME}"))
        number = next(each["id"] for each in every if each["student"] == student)
        return number, BeautifulSoup(self.fetch(f"submissions/{number}/"), "html.parser")


@pytest.fixture(scope="module")
def server(graded_class):
    """A Jupyter server in a class's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", f"--IdentityProvider.token={TOKEN}"]
    log = (graded_class / "server.txt").open("w")
    command = [BIN / "jupyter-server", *options]
    process = subprocess.Popen(command, cwd=graded_class, env=OUTSIDE, stdout=log, stderr=log)
    running = Server(port)
    try:
        _wait_for(running, process)
        yield running
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(server, process):
    for _ in range(240):
        try:
            return server.fetch("manage_assignments")
        except OSError:
            assert process.poll() is None, "the server ended"
            time.sleep(0.5)
    raise AssertionError("the server did not answer")


def test_the_overviews_show_the_class(server):
    assert CHAPTER in server.fetch(f"manage_submissions/{CHAPTER}")
    assert "formgrader" in server.fetch("gradebook")
    every = {each["student"]: each for each in json.loads(server.fetch(f"api/submissions/{CHAPTER}"))}
    assert every["right"]["score"] == 19 and every["right"]["autograded"]
    assert every["right"]["needs_manual_grade"] and every["untouched"]["score"] == 0


def test_a_submission_shows_marks_diagnosis_and_the_rubric(server):
    number, shown = server.submission("wrong-softmax")
    text = plain(shown.text)
    assert "softmax is not right yet" in text
    for question in questions(CHAPTER):
        assert "For the marker." in text and plain(question.answer)[:60] in text
    grades = {each["name"]: each for each in json.loads(server.fetch(f"api/grades?submission_id={number}"))}
    assert grades["check-softmax"]["auto_score"] < 3 and grades["check-attend"]["auto_score"] == 3
    comments = {each["name"]: each for each in json.loads(server.fetch(f"api/comments?submission_id={number}"))}
    assert comments["softmax"]["auto_comment"]
    assert comments["attend"]["auto_comment"] == "Right, given a right softmax; mend softmax first."


def test_no_script_of_a_student_is_live_in_formgrader(server):
    _, shown = server.submission("scripts")
    assert_harmless(shown)
    assert "<script>alert('words')</script>" in shown.text
    assert not shown.select("#softmax") and not shown.select("b.score")


def test_the_button_grades_a_student_on_cases_of_its_own(server, graded_class):
    before = autograded(graded_class, "graded-by-the-button").metadata["course"]["seed"]
    said = json.loads(server.fetch(f"api/submission/{CHAPTER}/graded-by-the-button/autograde", data=b""))
    assert said["success"], said
    assert lost(graded_class, "graded-by-the-button") == {"linear_scores": 0}
    assert autograded(graded_class, "graded-by-the-button").metadata["course"]["seed"] != before
    assert "Traceback" not in (graded_class / "server.txt").read_text()
