"""Which of a notebook's cells must run so that its answers can be graded.

A chapter's demonstrations draw and measure for many seconds. They run only where an answer, or a cell of the student's
own, uses a name that they bind.
"""

import builtins
import symtable

DEMO = "demo"  # the tag of the chapter's own code cells


def used_names(source):
    """The global names that a cell's code reads, also inside its functions; None where it cannot be parsed."""
    try:
        table = symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names, scopes = set(), [table]
    while scopes:
        scope = scopes.pop()
        top = scope.get_type() == "module"
        names |= {each.get_name() for each in scope.get_symbols() if each.is_referenced() and (top or each.is_global())}
        scopes += scope.get_children()
    return names - set(dir(builtins))


def bound_names(source):
    """The names that a cell's code binds at its top level; none where it cannot be parsed."""
    try:
        symbols = symtable.symtable(source, "<cell>", "exec").get_symbols()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}


def needed_cells(cells):
    """The positions of the code cells to run: all but the demonstrations of which nothing is used."""
    code = [number for number, cell in enumerate(cells) if cell.cell_type == "code"]
    demos = [number for number in code if DEMO in cells[number].metadata.get("tags", [])]
    needed = set(code) - set(demos)
    names = set()
    for number in needed:
        names |= used_names(cells[number].source) or set()
    while more := [n for n in demos if n not in needed and bound_names(cells[n].source) & names]:
        needed |= set(more)
        for number in more:
            names |= used_names(cells[number].source) or set()
    return needed
