"""The nbgrader side: student cells run in a kernel, the judge runs here, the marks go into nbgrader's gradebook."""
