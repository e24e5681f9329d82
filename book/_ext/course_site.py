"""Sphinx extension of the book: each chapter's student notebook to download, and a build that leaves nothing stale."""

import posixpath
import shutil
from pathlib import Path, PurePosixPath

from docutils import nodes


def student_notebooks(app):
    """Map each chapter of the table of contents to its student notebook, which the site serves under the same path."""
    trees = app.config.external_site_map.root.subtrees
    chapters = [str(item).removesuffix(".md") for tree in trees for item in tree.items]
    return {doc: f"notebooks/{i:02}_{PurePosixPath(doc).name}.ipynb" for i, doc in enumerate(chapters, start=1)}


def note_notebook(app, docname, source):
    """Read a chapter again when its notebook comes or goes, since the page links to it."""
    notebook = student_notebooks(app).get(docname)
    if notebook:
        app.env.note_dependency(str(Path(app.srcdir).parent / notebook))


def add_chapter_line(app, doctree, docname):
    """Say under the title what there is to do, and offer the notebook to do it in."""
    notebook = student_notebooks(app).get(docname)
    title = next(doctree.findall(nodes.title), None)
    if not notebook or title is None:
        return
    points = [node["points"] for node in doctree.findall(nodes.inline) if "points" in node]
    line = nodes.paragraph(classes=["chapter-line"])
    if points:
        tally = f"{plural(len(points), 'exercise')}, {plural(sum(points), 'point')}"
        line += nodes.inline("", tally, classes=["tally"])
    if (Path(app.srcdir).parent / notebook).exists():
        target = posixpath.relpath(notebook, posixpath.dirname(docname))
        line += nodes.reference("", "Download the notebook", refuri=target, classes=["download-notebook"])
    if line.children:
        title.parent.insert(title.parent.index(title) + 1, line)


def plural(number, noun):
    """Count in English."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def drop_vendored_scripts(app, config):
    """Leave MathJax to the pages with maths: the book engine puts every script below _static on every page."""
    config.html_js_files = [name for name in config.html_js_files if not str(name).startswith("vendor/")]


def forget_old_reports(app):
    """Delete the tracebacks of an earlier, failed build: they may quote the reference."""
    shutil.rmtree(Path(app.outdir, "reports"), ignore_errors=True)


def finish(app, exception):
    """Put the notebooks beside the pages. After a warning, make the next build read every page, and warn, again."""
    if app._warncount:
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)
    if exception:
        return
    for notebook in student_notebooks(app).values():
        made = Path(app.srcdir).parent / notebook
        if made.exists():
            Path(app.outdir, "notebooks").mkdir(exist_ok=True)
            shutil.copyfile(made, Path(app.outdir, notebook))


def setup(app):
    """Register everything above."""
    app.connect("config-inited", drop_vendored_scripts)
    app.connect("builder-inited", forget_old_reports)
    app.connect("source-read", note_notebook)
    app.connect("doctree-resolved", add_chapter_line)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
