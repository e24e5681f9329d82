"""What of a notebook must run so that its answers can be graded.

A chapter's demonstrations draw and measure for many seconds. They run only where an answer, or a cell of the student's
own, uses a name that they bind; and of a cell of which nothing but imports is used, only these.
"""

import ast
import builtins
import symtable

from IPython.core.inputtransformer2 import TransformerManager

DEMO = "demo"  # the tag of the chapter's own code cells


def _symbols(source):
    """The symbol table of a cell's code; None where it cannot be parsed. Magics are taken for what they stand for."""
    if source.lstrip().startswith("%%"):
        source = source.lstrip().partition("\n")[2]  # of %%time the body runs; what is no Python has no names
    try:
        return symtable.symtable(TransformerManager().transform_cell(source), "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def used_names(source):
    """The global names that a cell's code reads, also inside its functions; None where it cannot be parsed."""
    table = _symbols(source)
    if table is None:
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
    table = _symbols(source)
    if table is None:
        return set()
    return {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}


def import_lines(source):
    """The import statements at the top level of a cell's code; none where it cannot be parsed."""
    try:
        return [ast.unparse(node) for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def needed_code(cells):
    """{the position of a code cell: what of it to run}, in order."""
    code = {number: cell.source for number, cell in enumerate(cells) if cell.cell_type == "code"}
    demos = {number: source for number, source in code.items() if DEMO in cells[number].metadata.get("tags", [])}
    needed = {number: source for number, source in code.items() if number not in demos}
    names = set().union(*(used_names(source) or () for source in needed.values()))
    while more := {n: part for n, source in demos.items() if (part := _part(source, names)) != needed.get(n, "")}:
        needed |= more
        names |= set().union(*(used_names(source) or () for source in more.values()))
    return dict(sorted(needed.items()))


def _part(source, names):
    """What of a demonstration binds these names."""
    wanted = bound_names(source) & names
    lines = [line for line in import_lines(source) if bound_names(line) & wanted]
    imported = set().union(*map(bound_names, lines))
    return "\n".join(lines) if wanted <= imported else source
