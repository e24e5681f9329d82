"""Every nbgrader setting of the course. A class's nbgrader_config.py calls `configure`, then changes what it likes."""

import os
import sysconfig
import warnings

from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader.converters import base
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    GetGrades,
    IgnorePattern,
    IncludeHeaderFooter,
    LimitOutput,
    LockCells,
    OverwriteCells,
    OverwriteKernelspec,
    SaveCells,
)
from sqlalchemy.exc import SAWarning

from autograder.grading.preprocessors import ClearMarkedSolutions, GradeAnswers, HideRubrics, SaveMarks
from autograder.grading.reading import ForgivingExporter, files_to_copy, receive, timestamp_or_none
from autograder.grading.restore import RestoreCells


def configure(c):
    """Set up nbgrader for a class: `c` is the configuration object of its nbgrader_config.py."""
    warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")  # of nbgrader's own queries
    # nbgrader calls `alembic` by name, also where the environment was not activated.
    scripts = sysconfig.get_path("scripts")
    if scripts not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", "")])
    # What lies beside a notebook is read before any door of nbgrader's opens, so these two are replaced.
    base.find_all_files, CourseDirectory.get_existing_timestamp = files_to_copy, timestamp_or_none
    # The source is the release: stubs are cut when chapters are compiled, so only an instructor's own have solutions.
    c.GenerateAssignment.preprocessors = [
        IncludeHeaderFooter,
        LockCells,
        ClearMarkedSolutions,
        ClearOutput,
        CheckCellMetadata,
        ComputeChecksums,
        SaveCells,
        ClearHiddenTests,
        ClearMarkScheme,
        ComputeChecksums,
        CheckCellMetadata,
    ]
    c.Autograde.exporter_class = ForgivingExporter
    c.Autograde.pre_convert_hook = receive
    c.Autograde.sanitize_preprocessors = [
        ClearOutput,
        RestoreCells,
        OverwriteKernelspec,
        OverwriteCells,
        CheckCellMetadata,
    ]
    c.Autograde.autograde_preprocessors = [
        GradeAnswers,
        IgnorePattern,
        ClearMetadataPreprocessor,
        LimitOutput,
        SaveMarks,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    c.GenerateFeedback.preprocessors = [HideRubrics, GetGrades, CSSHTMLHeaderPreprocessor]
    c.ClearMetadataPreprocessor.preserve_cell_metadata_mask = {"nbgrader", "tags"}
    c.ClearMetadataPreprocessor.clear_notebook_metadata = False
    c.HTMLExporter.sanitize_html = True  # by filters of ours, which also reach nbgrader's own templates
    c.HTMLExporter.filters = {
        "clean_html": "autograder.grading.pages.clean_html",
        "markdown2html": "autograder.grading.pages.clean_markdown",
    }
