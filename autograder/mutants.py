"""Mutants of a reference: its source with one small change, which an exam must notice.

cosmic-ray makes them. It lacks a few operators that matter to code of arrays; they stand here, in its own vocabulary.
"""

import ast
import difflib
import warnings
from abc import abstractmethod
from dataclasses import dataclass

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator, operator_names


@dataclass(frozen=True)
class Mutant:
    """A changed source, and its changed line without comments: what `Exercise.equivalent` lists.

    A dropped statement reads "pass  # the statement".
    """

    source: str
    line: str


def mutants(exercise):
    """Every different mutant of what the student writes: it compiles, and its code is not that of the reference."""
    original = exercise.answer_source
    seen, found = {_written(exercise, original)}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd code, such as `is 0`
        for source in _mutated_sources(original):
            try:
                compile(source, exercise.name, "exec")
            except SyntaxError:
                continue
            written = _written(exercise, source)
            if written not in seen:
                seen.add(written)
                found.append(Mutant(source, _changed_line(original, source)))
    return found


def _mutated_sources(source):
    nodes = list(ast_nodes(get_ast(source)))
    for operator in operators():
        for occurrence in range(sum(1 for node in nodes for _ in operator.mutation_positions(node))):
            yield mutate_code(source, operator, occurrence)


def operators():
    """All operators of cosmic-ray that need no arguments, then ours."""
    theirs = [get_operator(name) for name in operator_names()]
    return [operator() for operator in theirs if not operator.arguments()] + [operator() for operator in OURS]


def _written(exercise, source):
    """What of a source the student writes: its functions to be written, without docstrings, annotations, comments."""
    top = _parsed(source).body[0]
    functions = [top]
    if isinstance(top, ast.ClassDef):
        functions = [node for node in top.body if isinstance(node, ast.FunctionDef)]
        functions = [node for node in functions if exercise.write is None or node.name in exercise.write]
    for function in functions:
        if ast.get_docstring(function) is not None:
            function.body[0] = ast.Pass()
        function.returns = None
        for argument in ast.walk(function.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
    return tuple(ast.dump(function) for function in functions)


def _changed_line(before, after):
    before, after = (ast.unparse(_parsed(source)).splitlines() for source in (before, after))
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    _, old, _, new, end = next(change for change in changes if change[0] != "equal")
    line = after[new].strip() if new < end else "pass"
    return f"pass  # {before[old].strip()}" if line == "pass" else line


def _parsed(source):
    return _PlainNumbers().visit(ast.parse(source))


class _PlainNumbers(ast.NodeTransformer):
    """+1 is 1, and -0 is 0: no mutants of each other."""

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.operand, ast.Constant) or type(node.operand.value) not in (int, float):
            return node
        changes_nothing = isinstance(node.op, ast.UAdd) or (isinstance(node.op, ast.USub) and not node.operand.value)
        return node.operand if changes_nothing else node


class Rewrite(Operator):
    """An operator that is given by the codes that may stand in a node's place."""

    @abstractmethod
    def rewrites(self, node):
        """Yield source code, without what comes before the node."""

    def mutation_positions(self, node):
        for _ in self.rewrites(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        return parso.parse(node.get_first_leaf().prefix + list(self.rewrites(node))[index])


class DropStatement(Rewrite):
    """A statement, simple or compound, becomes `pass`."""

    def rewrites(self, node):
        docstring = node.type == "simple_stmt" and node.children[0].type == "string"
        if node.type in ("simple_stmt", "if_stmt", "for_stmt", "while_stmt", "with_stmt", "try_stmt") and not docstring:
            yield "pass\n"

    @classmethod
    def examples(cls):
        return (
            Example("x = 1\ny = 2\n", "x = 1\npass\n", occurrence=1),
            Example("if x:\n    y = 2\nz = 3\n", "pass\nz = 3\n"),
        )


class DropLink(Rewrite):
    """A chain loses one link: an attribute, an index or a method call."""

    def rewrites(self, node):
        if node.type != "atom_expr":
            return
        links = [_code(child) for child in node.children]
        for place in range(1, len(links)):
            if links[place].startswith("("):
                continue  # a call goes with the name of its method
            end = place + 2 if "".join(links[place + 1 : place + 2]).startswith("(") else place + 1
            yield "".join(links[:place] + links[end:])

    @classmethod
    def examples(cls):
        return (
            Example("a @ b.T", "a @ b"),
            Example("a.sum(0)[None]", "a[None]"),
            Example("a.sum(0)[None]", "a.sum(0)", occurrence=1),
        )


class DropCall(Rewrite):
    """A call becomes its first argument."""

    def rewrites(self, node):
        if node.type != "atom_expr":
            return
        for place, link in enumerate(node.children):
            first = next(iter(_arguments(link)), "")
            if first and not _is_special(first):
                yield f"({first})" + "".join(_code(child) for child in node.children[place + 1 :])

    @classmethod
    def examples(cls):
        return (
            Example("np.exp(x - y)", "(x - y)"),
            Example("np.exp(abs(x)).sum()", "(abs(x)).sum()"),
            Example("np.exp(abs(x)).sum()", "np.exp((x)).sum()", occurrence=1),
        )


class DropArgument(Rewrite):
    """A call loses one argument."""

    def rewrites(self, node):
        given = _arguments(node)
        for place in range(len(given)):
            yield f"({', '.join(given[:place] + given[place + 1 :])})"

    @classmethod
    def examples(cls):
        return (
            Example("x.max(axis=a, keepdims=True)", "x.max(keepdims=True)"),
            Example("f(x)", "f()"),
        )


class SwapNeighbours(Rewrite):
    """Two neighbours change places: arguments of a call, items of a tuple or a list, axes of an index."""

    def rewrites(self, node):
        if node.type not in SERIES or _code(node.children[1]) != ",":
            return
        items = [_code(child) for child in node.children[::2]]
        for place in range(len(items) - 1):
            if node.type != "arglist" or not (_is_special(items[place]) or _is_special(items[place + 1])):
                yield ", ".join([*items[:place], items[place + 1], items[place], *items[place + 2 :]])

    @classmethod
    def examples(cls):
        return (
            Example("f(x, y, z)", "f(y, x, z)"),
            Example("f(x, y, z=1)", "f(y, x, z=1)"),
            Example("return x, y", "return y, x"),
            Example("np.stack([x, y])", "np.stack([y, x])"),
            Example("x[:, None]", "x[None, :]"),
        )


class SwapOperands(Rewrite):
    """The two sides of an operator change places, where that makes a difference to numbers."""

    def rewrites(self, node):
        if node.type in ("term", "arith_expr", "power") and len(node.children) == 3:
            left, operator, right = map(_code, node.children)
            if operator not in ("+", "*"):
                yield f"({right}) {operator} ({left})"

    @classmethod
    def examples(cls):
        return (Example("x @ y", "(y) @ (x)"), Example("x - f(y)", "(f(y)) - (x)"))


class ReplaceMatMul(Rewrite):
    """`@` becomes `*`: cosmic-ray knows every binary operator but this one."""

    def rewrites(self, node):
        if node.type == "operator" and node.value == "@" and node.parent.type != "decorator":
            yield "*"

    @classmethod
    def examples(cls):
        return (Example("x @ y", "x * y"),)


OURS = (DropStatement, DropLink, DropCall, DropArgument, SwapNeighbours, SwapOperands, ReplaceMatMul)
SERIES = ("arglist", "testlist", "testlist_comp", "testlist_star_expr", "subscriptlist")


def _code(node):
    return node.get_code(include_prefix=False)


def _arguments(node):
    """The codes of a call's arguments; none where the node is not the brackets of a call."""
    if node.type != "trailer" or node.children[0].value != "(":
        return []
    inside = node.children[1]
    if inside.type == "arglist":
        return [_code(child) for child in inside.children[::2]]
    return [] if len(node.children) == 2 else [_code(inside)]


def _is_special(argument):
    """Whether an argument is unpacked or given by keyword."""
    return argument.startswith("*") or bool(ast.parse(f"f({argument})", mode="eval").body.keywords)
