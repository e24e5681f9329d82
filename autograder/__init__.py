"""The autograder: it asks an answer for outputs, compares them with the reference's, and says what went wrong."""
