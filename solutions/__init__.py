"""The reference library of the course: one plain module a chapter. It imports nothing of the autograder."""
