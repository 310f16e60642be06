"""The parser against CPython's: the same tree with the same byte ranges for everything that both languages have, and a
refusal for what only Python has. The material is code that nobody here wrote (torch's and torchvision's own Python, and
what torch.jit.save prints for it) and random sentences of the language."""

import ast
import io
import random
import re
import struct
import subprocess
import textwrap
import tokenize
import zipfile
from pathlib import Path

import pytest
import torch
import torchvision

from integration_tests.command_line import BUILD

TOOL = BUILD / "bin" / "hearth-parse"

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
          ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
           ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


class Refused(Exception):
    """TorchScript has no such thing."""


def quoted(text):
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        out.append("\\" + char if char in '"\\' else char if 0x20 <= byte < 0x7F else f"\\x{byte:02x}")
    return '"' + "".join(out) + '"'


class Printer:
    """Prints CPython's tree in the form of jit/frontend/tree_printer.h. `@?-?` stands for a range that CPython gets
    wrong (in f-strings, before 3.12) or takes differently."""

    def __init__(self, source):
        self.source = source.encode()
        self.lines = [0]
        for line in self.source.split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        self.in_f_string = 0

    def range(self, node):
        return (self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset)

    def node(self, kind, node, *fields):
        unknown = self.in_f_string or isinstance(node, ast.GeneratorExp)
        place = "?-?" if unknown else "%d-%d" % self.range(node)
        return "(" + " ".join([f"{kind}@{place}", *fields]) + ")"

    def show(self, node):
        if node is None:
            return "_"
        method = getattr(self, type(node).__name__, None)
        if method is None:
            raise Refused(type(node).__name__)
        return method(node)

    def whole(self, node):
        """As show, where CPython's compiler, though not its parser, refuses a lone `*a`."""
        if isinstance(node, ast.Starred):
            raise Refused("a lone star")
        return self.show(node)

    def many(self, nodes):
        return "[" + " ".join(self.show(node) for node in nodes) + "]"

    def Name(self, node):
        return self.node("Name", node, quoted(node.id))

    def Constant(self, node, negative=False, at=None):
        at, value = at or node, node.value
        if value is None:
            return self.node("NoneConstant", at)
        if value is ...:
            return self.node("EllipsisConstant", at)
        if isinstance(value, bool):
            return self.node("BoolConstant", at, str(value))
        if isinstance(value, str):
            return self.node("StringConstant", at, quoted(value))
        if isinstance(value, bytes):
            raise Refused("bytes")
        value = -value if negative else value
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise Refused("large integer")
            return self.node("IntConstant", at, str(value))
        kind, value = ("ComplexConstant", value.imag) if isinstance(value, complex) else ("FloatConstant", value)
        return self.node(kind, at, struct.pack(">d", value).hex())

    def UnaryOp(self, node):
        operand = node.operand
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant) and type(operand.value) in (
                int, float, complex):
            parenthesized = self.source[self.range(node)[0] + 1 : self.range(operand)[0]].strip()
            if not (parenthesized and type(operand.value) is int):
                return self.Constant(operand, negative=True, at=node)
        return self.node("UnaryOp", node, UNARY[type(node.op)], self.show(operand))

    def BinOp(self, node):
        return self.node("BinOp", node, BINARY[type(node.op)], self.show(node.left), self.show(node.right))

    def BoolOp(self, node):
        return self.node("BoolOp", node, "and" if isinstance(node.op, ast.And) else "or", self.many(node.values))

    def Compare(self, node):
        pairs = (f"({COMPARE[type(op)]} {self.show(right)})" for op, right in zip(node.ops, node.comparators))
        return self.node("Compare", node, self.show(node.left), "[" + " ".join(pairs) + "]")

    def IfExp(self, node):
        return self.node("Ternary", node, self.show(node.test), self.show(node.body), self.show(node.orelse))

    def Attribute(self, node):
        return self.node("Attribute", node, self.show(node.value), quoted(node.attr))

    def is_parenthesized(self, node):
        begin, end = self.range(node)
        text = self.source[begin:end].decode()
        if text[0] != "(":
            return False
        try:
            ast.parse("f(\n" + text[1:-1].strip().rstrip(",") + "\n)")
            return True
        except SyntaxError:
            return False

    def Subscript(self, node):
        index = node.slice
        if isinstance(index, ast.Tuple) and not self.is_parenthesized(index):
            if any(isinstance(element, ast.Starred) for element in index.elts):
                raise Refused("starred index")
            return self.node("Subscript", node, self.show(node.value), self.many(index.elts), "comma")
        return self.node("Subscript", node, self.show(node.value), self.many([index]))

    def Slice(self, node):
        return self.node("Slice", node, self.show(node.lower), self.show(node.upper), self.show(node.step))

    def keywords(self, keywords):
        shown = (f"(keyword {quoted(keyword.arg or '')} {self.show(keyword.value)})" for keyword in keywords)
        return "[" + " ".join(shown) + "]"

    def Call(self, node):
        return self.node("Call", node, self.show(node.func), self.many(node.args), self.keywords(node.keywords))

    def List(self, node):
        return self.node("List", node, self.many(node.elts))

    def Tuple(self, node):
        return self.node("Tuple", node, self.many(node.elts))

    def Starred(self, node):
        return self.node("Starred", node, self.show(node.value))

    def Dict(self, node):
        if None in node.keys:
            raise Refused("** in a dict")
        items = (f"(item {self.show(key)} {self.show(value)})" for key, value in zip(node.keys, node.values))
        return self.node("Dict", node, "[" + " ".join(items) + "]")

    def generators(self, generators):
        if any(generator.is_async for generator in generators):
            raise Refused("async")
        shown = (f"(generator {self.show(generator.target)} {self.show(generator.iter)} {self.many(generator.ifs)})"
                 for generator in generators)
        return "[" + " ".join(shown) + "]"

    def ListComp(self, node):
        return self.node("ListComp", node, self.show(node.elt), self.generators(node.generators))

    def GeneratorExp(self, node):
        return self.node("ListComp", node, self.show(node.elt), self.generators(node.generators), "generator")

    def DictComp(self, node):
        return self.node("DictComp", node, self.show(node.key), self.show(node.value), self.generators(node.generators))

    def JoinedStr(self, node):
        self.in_f_string += 1
        parts = self.many(node.values)
        self.in_f_string -= 1
        return self.node("JoinedStr", node, parts)

    def FormattedValue(self, node):
        conversion = "_" if node.conversion == -1 else chr(node.conversion)
        return self.node("FormattedValue", node, self.whole(node.value), conversion, self.show(node.format_spec))

    def Assign(self, node):
        return self.node("Assign", node, self.many(node.targets), self.whole(node.value))

    def AnnAssign(self, node):
        return self.node("AnnAssign", node, self.show(node.target), self.show(node.annotation), self.whole(node.value))

    def AugAssign(self, node):
        return self.node("AugAssign", node, BINARY[type(node.op)], self.show(node.target), self.whole(node.value))

    def Expr(self, node):
        return self.node("ExprStmt", node, self.whole(node.value))

    def If(self, node):
        return self.node("If", node, self.show(node.test), self.many(node.body), self.many(node.orelse))

    def For(self, node):
        if node.orelse:
            raise Refused("else of a loop")
        return self.node("For", node, self.whole(node.target), self.whole(node.iter), self.many(node.body))

    def While(self, node):
        if node.orelse:
            raise Refused("else of a loop")
        return self.node("While", node, self.show(node.test), self.many(node.body))

    def With(self, node):
        items = (f"(item {self.show(item.context_expr)} {self.show(item.optional_vars)})" for item in node.items)
        return self.node("With", node, "[" + " ".join(items) + "]", self.many(node.body))

    def Return(self, node):
        return self.node("Return", node, self.whole(node.value))

    def Raise(self, node):
        return self.node("Raise", node, self.show(node.exc), self.show(node.cause))

    def Assert(self, node):
        return self.node("Assert", node, self.show(node.test), self.show(node.msg))

    def Delete(self, node):
        return self.node("Delete", node, self.many(node.targets))

    def Break(self, node):
        return self.node("Break", node)

    def Continue(self, node):
        return self.node("Continue", node)

    def Pass(self, node):
        return self.node("Pass", node)

    def Import(self, node):
        return self.node("Import", node)

    ImportFrom = Import

    def parameters(self, args):
        def one(kind, arg, default):
            return f"(parameter {kind} {quoted(arg.arg)} {self.show(arg.annotation)} {self.show(default)})"

        positional = args.posonlyargs + args.args
        defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
        shown = [one("positional" if i < len(args.posonlyargs) else "normal", arg, default)
                 for i, (arg, default) in enumerate(zip(positional, defaults))]
        if args.vararg:
            shown.append(one("*", args.vararg, None))
        shown += [one("keyword", arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
        if args.kwarg:
            shown.append(one("**", args.kwarg, None))
        return "[" + " ".join(shown) + "]"

    def FunctionDef(self, node):
        return self.node("FunctionDef", node, quoted(node.name), self.parameters(node.args), self.show(node.returns),
                         self.many(node.body), self.many(node.decorator_list))

    def ClassDef(self, node):
        return self.node("ClassDef", node, quoted(node.name), self.many(node.bases), self.keywords(node.keywords),
                         self.many(node.body), self.many(node.decorator_list))


def has_foreign_escape(source):
    """Whether a string has an escape that TorchScript has not."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING:
            prefix = re.match(r"[A-Za-z]*", token.string).group().lower()
            if "r" not in prefix and any(c not in "\\'\"abfnrtvxuU01234567\n\r"
                                         for c in re.findall(r"\\(.)", token.string, re.S)):
                return True
    return False


def expected_tree(source):
    """What hearth-parse should print for `source`: None if it should refuse it, for Python refuses it too or knows more
    than TorchScript."""
    try:
        module = ast.parse(source)
        if has_foreign_escape(source):
            return None
        printer = Printer(source)
        return "".join(printer.show(statement) + "\n" for statement in module.body)
    except (SyntaxError, ValueError, Refused):
        return None


RANGE = re.compile(r"@(\?|\d+)-(\?|\d+)")


def difference(source, expected, got):
    """In what `got`, the output of hearth-parse for `source`, differs from what was `expected`; None if in nothing."""
    if got.startswith("error: "):
        return None if expected is None else f"refused: {got}"
    if expected is None:
        return f"accepted, but Python or TorchScript would not: {got}"
    if RANGE.sub("@", expected) != RANGE.sub("@", got):
        return f"expected {RANGE.sub('', expected)}\n     got {RANGE.sub('', got)}"
    for wanted, given in zip(RANGE.finditer(expected), RANGE.finditer(got)):
        if wanted.group(1) != "?" and wanted.group() != given.group():
            return f"expected the range {wanted.group()}, got {given.group()}, in {got}"
    return None


def parse_all(sources, folder):
    """hearth-parse's output for each source."""
    outputs = []
    for first in range(0, len(sources), 1000):
        paths = []
        for index, source in enumerate(sources[first : first + 1000]):
            path = folder / f"{index}.py"
            path.write_text(source, newline="")
            paths.append(path)
        run = subprocess.run([TOOL, *paths], capture_output=True, check=True)
        outputs += run.stdout.decode().split("---\n")[:-1]
    return outputs


def check(sources, folder):
    """Asserts that every source parses as in CPython; gives how many were accepted."""
    expected = [expected_tree(source) for source in sources]
    got = parse_all(sources, folder)
    assert len(got) == len(sources)
    misses = []
    for source, wanted, given in zip(sources, expected, got):
        miss = difference(source, wanted, given)
        if miss:
            misses.append(f"{source}\n=> {miss}")
    assert not misses, f"{len(misses)} of {len(sources)} differ, the first:\n" + "\n\n".join(misses[:3])
    return sum(wanted is not None for wanted in expected)


def units(path):
    """The top-level statements of a Python file and those of its classes, as texts of their own."""
    # CPython's `ast` knows nothing of type comments, the parser does.
    lines = re.sub(r"# type:", "# kind:", path.read_text()).splitlines(keepends=True)

    def texts(body):
        for statement in body:
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
            text = textwrap.dedent("".join(lines[first - 1 : statement.end_lineno]))
            yield text
            if isinstance(statement, ast.ClassDef):
                yield from texts(statement.body)

    for text in texts(ast.parse("".join(lines)).body):
        try:
            ast.parse(text)
        except SyntaxError:
            continue  # dedenting broke a string
        yield text


def python_files():
    libraries = Path(torch.__file__).parent, Path(torchvision.__file__).parent
    for library, pattern in [(libraries[0], "nn/**/*.py"), (libraries[0], "_decomp/*.py"),
                             (libraries[0], "jit/*.py"), (libraries[1], "**/*.py")]:
        yield from sorted(library.glob(pattern))


def test_python_code_has_the_tree_that_cpython_gives_it(tmp_path):
    sources = [unit for path in python_files() for unit in units(path)]
    assert check(sources, tmp_path) > 3000


def test_printed_code_has_the_tree_that_cpython_gives_it(tmp_path):
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(model), buffer)
    archive = zipfile.ZipFile(buffer)
    sources = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")]
    assert check(sources, tmp_path) == len(sources) > 50


EXPRESSION_TOKENS = """a b c f x1 1 2.5 3j 0x1F 'q' "r" f'{a!r:>{b}}' None True ... ( ) [ ] { } , , : : . = + - * / // %
** @ ~ & | ^ << >> == != < <= > >= and or not in is if else for lambda not in is * ** :""".split()
STATEMENT_TOKENS = ["pass", "return", "break", "continue", "raise", "assert", "del", "with", "as", "while", "for", "in",
                    "if", "elif", "else", "def", "class", ";", "=", "+=", "**=", "->", "@", "\n", "\n", "\n ", "\n ",
                    "\n  ", "(", ")", ":", ":", ":", ",", "a", "b", "f(a)", "a.b", "a[0]", "1", "'s'", "from", "\\\n",
                    "# c\n", "*"]


# Where the parser is wider than CPython on purpose: keywords as names of attributes and arguments, which archives have;
# and a continuation mark within indentation.
WIDER = re.compile(r"(\.|[(,]) (and|or|not|in|is|if|else|for|lambda|None|True|pass|del)\b|(^|\n) *\\\n")


def sentences(tokens, count, longest, seed):
    generator = random.Random(seed)
    for _ in range(count):
        sentence = " ".join(generator.choice(tokens) for _ in range(generator.randint(1, longest)))
        if not WIDER.search(sentence):
            yield sentence


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("tokens, longest", [(EXPRESSION_TOKENS, 7), (STATEMENT_TOKENS, 12)])
def test_random_sentences_are_taken_or_refused_as_by_cpython(tokens, longest, tmp_path):
    sources = list(sentences(tokens, 5000, longest, seed=7))
    assert check(sources, tmp_path) > 100
