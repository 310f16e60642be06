"""Programs that mean harm, or look as if: what must end in a clear error, and what must simply work.

Each is (group, text or maker of an archive, what must be said). Methods are `forward(self, n: int)`, called with 1000."""

import struct

from integration_tests.conformance import handmade

NODE = """
class Node:
  next : Optional[__torch__.Node]
  v : int
  def __init__(self: __torch__.Node, v: int) -> NoneType:
    self.next = annotate(Optional[__torch__.Node], None)
    self.v = v
    return None
"""

ANSWERS = "an answer"  # in place of what must be said: the program is harmless and must answer
ENDS = ""  # any error will do, and so will an answer: what counts is that it ends

PROGRAMS = {}


def program(name, group, says, body, before="", attributes="", data=None):
    text = handmade.module(body, before, attributes)
    PROGRAMS[name] = (group, lambda path: handmade.archive(path, text, data), says)


def forward(lines, returns="int"):
    return f"def forward(self, n: int) -> {returns}:\n" + "\n".join("    " + line for line in lines.strip("\n").split("\n"))


def _grows(name, start, step, returns="int", before=""):
    what = start.partition("=")[0].partition(":")[0].strip()
    lines = f"{start}\nwhile True:\n    {step}\nprint({what})\nreturn n"
    program(f"grows {name}", "memory", "memory limit", forward(lines, returns), before)


_grows("a list", "l = [0]", "l.append(n)")
_grows("a list of lists", "l = [[0]]", "l.append([n, n, n])")
_grows("a list by itself", "l = [0]", "l.extend(l)")
_grows("a list by adding", "l = [0]", "l = l + l")
_grows("a list in place", "l = [0]", "l += l")
_grows("a list by insert", "l = [0]", "l.insert(len(l), n)")
_grows("a list of strings", 'l = ["a"]', 'l.append(str(len(l)) + "abcdefghijklmnopqrstuvwxyz")')
_grows("a string", 's = "x"', "s = s + s")
_grows("a string by the same", 's = "xyz"', 's = s + "' + "x" * 4000000 + '"')
_grows("a string by replace", 's = "aa"', 's = s.replace("a", "aaa")')
_grows("a string by join", 's = "aa"', "s = s.join([s, s, s])")
_grows("a string by format", 's = "aa"', 's = "{}{}".format(s, s)')
_grows("a dict", "d: Dict[int, str] = {}", 'd[len(d)] = "abc"')
_grows("a dict of dicts", "d: Dict[int, Dict[str, int]] = {}", 'd[len(d)] = {"a": 1}')
_grows("a tensor", "t = torch.ones([n])", "t = torch.cat([t, t])")
_grows("a list of tensors", "l = [torch.ones([n])]", "l.append(torch.ones([n]))")
_grows("a tensor by repeat", "t = torch.ones([n])", "t = t.repeat([4])")
_grows("a tensor in place", "t = torch.ones([1])", "t.resize_([2 * t.numel()])")
_grows("a chain of objects", "head = __torch__.Node(0)", "new = __torch__.Node(n)\n    new.next = head\n    head = new", before=NODE)
_grows("a tuple in a tuple", "t: Any = 1", "t = (t, n)")
_grows("tensors with gradients", "t = torch.ones([n])\ntorch.set_grad_enabled(True)\nt.requires_grad_()", "t = t * 2")


def _asks(name, expression, says="memory limit"):
    program(f"asks for {name}", "memory", says, forward(f"x = {expression}\nprint(x)\nreturn n"))


_asks("a huge list", "[n] * 10000000000")
_asks("a list beyond counting", "[n] * 9223372036854775807", ENDS)
_asks("a list of a negative length", "[n] * -9223372036854775807", ENDS)
_asks("a huge range", "[i for i in range(10000000000)]")
_asks("a huge string", '"ab" * 10000000000', ENDS)
_asks("a wide string", '"a".ljust(10000000000)', ENDS)
_asks("a centered string", '"a".center(10000000000)', ENDS)
_asks("a string filled with zeros", '"a".zfill(10000000000)', ENDS)
_asks("tabs", '"\\t".expandtabs(10000000000)', ENDS)
_asks("a huge tensor", "torch.zeros([n, 1000000, 100])")
_asks("a tensor beyond counting", "torch.empty([9223372036854775807, 9223372036854775807])", "overflow")
_asks("a tensor of a negative size", "torch.empty([-5])", "negative")
_asks("an expanded tensor made whole", "torch.ones([1]).expand([n, 1000000]).contiguous()")
_asks("a one-hot of a wild class", "torch.one_hot(torch.tensor([1000000000000]), -1)", ENDS)
_asks("a huge arange", "torch.arange(100000000000)")
_asks("a huge eye", "torch.eye(1000000)")
_asks("huge bincounts", "torch.bincount(torch.tensor([1000000000000]))")
_asks("a huge outer product", "torch.outer(torch.ones([1000000]), torch.ones([1000000]))")
_asks("a huge repeat_interleave", "torch.repeat_interleave(torch.ones([1]), 100000000000)")
_asks("huge padding", "torch.constant_pad_nd(torch.ones([1]), [100000000000, 100000000000])")
_asks("combinations of many", "torch.combinations(torch.arange(100000), 3)", ENDS)
_asks("a long tolist", "annotate(List[float], torch.ones([1]).expand([10000000000]).tolist())", ENDS)


def _time(name, body, says="deadline", before=""):
    program(name, "time", says, body, before)


_time("a loop without end", forward("while True:\n    n += 1\nreturn n"))
_time("a range without end", forward("for i in range(9223372036854775807):\n    n += i\nreturn n"))
_time("loops in loops", forward("for i in range(1000000):\n    for j in range(1000000):\n        for k in range(1000000):\n            n += k\nreturn n"))
_time("a loop of operators", forward("t = torch.ones([10])\nwhile True:\n    t = t + 1\nprint(t)\nreturn n"))
_time("a loop of calls", 'def forward(self, n: int) -> int:\n    while True:\n        n = self.f(n)\n    return n\ndef f(self, n: int) -> int:\n    while n > 100000:\n        n = n // 2\n    return n + 1')
_time("an empty loop", forward("while True:\n    pass\nreturn n"), ENDS)
_time("a loop that catches nothing", forward("i = 0\nwhile i >= 0:\n    i = (i + 1) % 1000\nreturn i"))
_time("a loop in a comparison that sorts", forward("l = [__torch__.C(1), __torch__.C(2)]\nl.sort()\nprint(len(l))\nreturn l[0].v"), before="""
class C:
  v : int
  def __init__(self: __torch__.C, v: int) -> NoneType:
    self.v = v
    return None
  def __lt__(self: __torch__.C, other: __torch__.C) -> bool:
    x = 0
    while x >= 0:
      x = (x + 1) % 1000
    return x > 0
""")
_time("a loop in a fork", "def forward(self, n: int) -> int:\n    f = fork(self.g, n)\n    return torch.wait(f)\ndef g(self, n: int) -> int:\n    while True:\n        n += 1\n    return n")
_time("a sum over a wild range", forward("s = 0\nfor x in range(n * 1000000000):\n    s += x\nreturn s"))
_time("collatz backwards", forward("m = n\nwhile m != 0:\n    m = m * 3 + 1\n    if m < 0:\n        m = n\nreturn m"))


def _nests(name, says, body, before="", attributes=""):
    program(f"nests {name}", "nesting", says, body, before, attributes)


DEEP = 10000
_nests("parentheses", "nests more than", forward("x = " + "(" * DEEP + "n" + ")" * DEEP + "\nreturn x"))
_nests("lists", "nests more than", forward("x = " + "[" * DEEP + "n" + "]" * DEEP + "\nreturn n"))
_nests("calls", "nests more than", forward("x = " + "torch.neg(" * DEEP + "n" + ")" * DEEP + "\nreturn n"))
_nests("negations", "nests more than", forward("x = " + "-" * DEEP + "n\nreturn x"))
_nests("nots", "nests more than", forward("x = " + "not " * DEEP + "True\nreturn n"))
_nests("subscripts", ENDS, forward("l = [n]\nreturn l" + "[0]" * DEEP))
_nests("attributes", ENDS, forward("return self" + ".a" * DEEP))
_nests("conditions", "nests more than", forward("x = " + "n if n > 0 else (" * DEEP + "n" + ")" * DEEP + "\nreturn x"))
_nests("sums to the left", ENDS, forward("x = n" + " + 1" * DEEP + "\nreturn x"))
_nests("sums to the right", "nests more than", forward("x = " + "1 + (" * DEEP + "n" + ")" * DEEP + "\nreturn x"))
_nests("powers", "nests more than", forward("x = " + "2 ** " * DEEP + "1\nreturn n"))
_nests("comparisons", ENDS, forward("x = n" + " < n" * DEEP + "\nreturn n"))
_nests("ands", ENDS, forward("x = True" + " and True" * DEEP + "\nreturn n"))
_nests("ifs", "nests more than", forward("\n".join(" " * i + "if n > 0:" for i in range(3000)) + "\n" + " " * 3000 + "n += 1\nreturn n"))
_nests("loops", "nests more than", forward("\n".join(" " * i + "for i in range(n):" for i in range(3000)) + "\n" + " " * 3000 + "n += 1\nreturn n"))
_nests("elifs", ENDS, forward("if n == -1:\n    n = 1\n" + "\n".join(f"elif n == {i}:\n    n = {i}" for i in range(DEEP // 2)) + "\nreturn n"))
_nests("types", "nests more than", forward("x: " + "List[" * DEEP + "int" + "]" * DEEP + " = []\nreturn n"))
_nests("functions", "nests more than", forward("\n".join(" " * i + "def f(x: int) -> int:" for i in range(2000)) + "\n" + " " * 2000 + "return x\nreturn n"))
_nests("a tuple as the answer", "nests", forward("t: Any = 1\nfor i in range(n * 100):\n    t = (t,)\nreturn t", "Any"))
_nests("objects", ANSWERS, forward("head = __torch__.Node(0)\nfor i in range(n * 1000):\n    new = __torch__.Node(i)\n    new.next = head\n    head = new\nreturn head.v"), NODE)
_nests("objects as the answer", "nests", forward("head = __torch__.Node(0)\nfor i in range(n * 1000):\n    new = __torch__.Node(i)\n    new.next = head\n    head = new\nreturn head", "__torch__.Node"), NODE)
_nests("an object in itself as the answer", "nests", forward("a = __torch__.Node(0)\na.next = a\nreturn a", "__torch__.Node"), NODE)
_nests("a tuple that is printed", ENDS, forward("t: Any = 1\nfor i in range(n * 1000):\n    t = (t,)\nreturn len(str(t))"))
_nests("shared tuples that are printed", ENDS, forward("t: Any = 1\nfor i in range(n):\n    t = (t, t)\nreturn len(str(t))"))


PARTS = "parts when it is written out"


def _source(name, says, body, before="", attributes="", data=None):
    program(name, "source", says, body, before, attributes, data)


def _before(name, i):
    return f"{name}{i - 1}" if i else "int"


_source("a hundred thousand lines", ANSWERS, forward("\n".join("n = n + 1" for _ in range(100000)) + "\nreturn n"))
_source("a hundred thousand tensors", ANSWERS, forward("x = torch.ones([2])\n" + "\n".join("x = torch.add(x, 1)" for _ in range(100000)) + "\nreturn n"))
_source("a hundred thousand methods", ENDS, "\n".join(f"def f{i}(self, n: int) -> int:\n    return n" for i in range(100000)) + "\n" + forward("return n"))
_source("a million attributes", ENDS, forward("return n"), attributes="\n".join(f"a{i} : int" for i in range(1000000)))
_source("a number of a million digits", ENDS, forward("return " + "9" * 1000000))
_source("a float of a million digits", ENDS, forward("x = 0." + "9" * 1000000 + "\nreturn n"))
_source("a string of ten megabytes", ANSWERS, forward('s = "' + "x" * 10000000 + '"\nreturn len(s)'))
_source("a name of a megabyte", ANSWERS, forward("a" * 1000000 + " = n\nreturn " + "a" * 1000000))
_source("a line of a hundred thousand arguments", ENDS, forward("l = [" + ", ".join("n" for _ in range(100000)) + "]\nreturn len(l)"))
_source("a dict of a hundred thousand entries", ENDS, forward("d = {" + ", ".join(f"{i}: n" for i in range(100000)) + "}\nreturn len(d)"))
_source("an unpacking of a hundred thousand", ENDS, forward("a, " * 20000 + "= [n] * 20000\nreturn n"))
_source("an unending string", ENDS, forward('s = "abc\nreturn n'))
_source("bytes that are no text", ENDS, forward("return n\x00\xff\xfe"))
_source("calls that double", ENDS, "\n".join(f"def f{i}(self, n: int) -> int:\n    return self.f{i + 1}(n) + self.f{i + 1}(n)" for i in range(64)) + "\ndef f64(self, n: int) -> int:\n    return n + 1\n" + forward("return self.f0(n)"))
_source("a chain of ten thousand calls", ANSWERS, "\n".join(f"def f{i}(self, n: int) -> int:\n    return self.f{i + 1}(n)" for i in range(10000)) + "\ndef f10000(self, n: int) -> int:\n    return n + 1\n" + forward("return self.f0(n)"))
_source("types that double", PARTS, forward("return n"), before="\n".join(f"class A{i}(NamedTuple):\n  a : {_before('__torch__.A', i)}\n  b : {_before('__torch__.A', i)}" for i in range(64)), attributes="x : __torch__.A63")
_source("classes that double", ENDS, "def forward(self, n: int, x: Optional[__torch__.A63]=None) -> int:\n    return n", before="\n".join(f"class A{i}:\n  a : {_before('__torch__.A', i)}\n  b : {_before('__torch__.A', i)}" for i in range(64)))
_source("a named tuple of classes that double", "may lead to 10000 others", "def forward(self, n: int, x: Optional[__torch__.T]=None) -> int:\n    return n", before="\n".join(f"class A{i}:\n  a : {_before('__torch__.A', i)}\n  b : {_before('__torch__.A', i)}" for i in range(64)) + "\nclass T(NamedTuple):\n  a : __torch__.A63")
_source("a named tuple of a class that holds itself", "or to itself", "def forward(self, n: int, x: Optional[__torch__.T]=None) -> int:\n    a = __torch__.Node(n)\n    return __torch__.T(a).a.v", before=NODE + "class T(NamedTuple):\n  a : __torch__.Node")
_source("values of types that double", PARTS, forward("\n".join(f"x{i} = ({f'x{i - 1}, x{i - 1}' if i else 'n, n'})" for i in range(40)) + "\nreturn n"))
_source("lists of types that double", PARTS, forward("\n".join(f"x{i} = [({f'x{i - 1}, x{i - 1}' if i else 'n, n'})]" for i in range(40)) + "\nreturn n"))
_source("dicts of types that double", PARTS, forward("\n".join(f"x{i} = {{n: ({f'x{i - 1}, x{i - 1}' if i else 'n, n'})}}" for i in range(40)) + "\nreturn n"))
_source("lists in lists, a line each", PARTS, forward("x0 = [n]\n" + "\n".join(f"x{i} = [x{i - 1}]" for i in range(1, DEEP)) + "\nreturn n"))
_source("a tuple that a line makes longer", PARTS, forward("\n".join(f"x{i} = x{i - 1} + x{i - 1}" if i else "x0 = (n, n)" for i in range(40)) + "\nreturn n"))
_source("many values of a large type", ENDS, forward("\n".join(f"x{i} = ({f'x{i - 1}, x{i - 1}' if i else 'n, n'})" for i in range(11)) + "\n" + "\n".join(f"y{i} = (x10, n)" for i in range(50000)) + "\nreturn n"))
_source("unions of unions", "a member of a union", forward("return n"), before="\n".join(f"class A{i}(NamedTuple):\n  a : Union[Tuple[{_before('__torch__.A', i)}, int], Tuple[{_before('__torch__.A', i)}, str]]" for i in range(64)), attributes="x : __torch__.A63")
_source("three million lines", "loading", forward("\n".join("n = n + 1" for _ in range(3000000)) + "\nreturn n"))
_source("ten thousand methods that assign an attribute each", ENDS, "\n".join(f"def f{i}(self, n: int) -> int:\n    self.a{i} = n\n    return self.a{i}" for i in range(10000)) + "\n" + forward("return n"), attributes="\n".join(f"a{i} : int" for i in range(10000)), data=handmade.pickled_object("__torch__.M", b"".join(handmade.attribute(f"a{i}", b"K\x01") for i in range(10000))))
_source("classes that need each other", ENDS, forward("return n"), before="class A:\n  b : __torch__.B\nclass B:\n  a : __torch__.A", attributes="x : __torch__.A")
_source("a class of its own kind", ENDS, forward("return n"), before="class A(NamedTuple):\n  a : __torch__.A", attributes="x : __torch__.A")
_source("ten thousand classes in a row", ENDS, forward("return n"), before="\n".join(f"class A{i}:\n  a : {f'__torch__.A{i - 1}' if i else 'int'}" for i in range(10000)), attributes="x : Optional[__torch__.A9999]")


def _recursion(name, says, body, before=""):
    program(name, "recursion", says, body, before)


_recursion("a method that calls itself", "recursion", forward("return self.forward(n)"))
_recursion("methods that call each other", "recursion", "def g(self, n: int) -> int:\n    return self.forward(n) + 1\n" + forward("return self.g(n)"))
_recursion("recursion that ends", ANSWERS, "def g(self, n: int) -> int:\n    if n == 0:\n        return 0\n    return self.g(n - 1) + 1\n" + forward("return self.g(n)"))
_recursion("recursion that makes tensors", ENDS, "def g(self, x: Tensor) -> Tensor:\n    return self.g(torch.cat([x, x]))\n" + forward("x = self.g(torch.ones([10]))\nreturn n"))
_recursion("recursion in a comparison", ENDS, forward("l = [__torch__.C(1), __torch__.C(2)]\nl.sort()\nreturn n"), """
class C:
  v : int
  def __init__(self: __torch__.C, v: int) -> NoneType:
    self.v = v
    return None
  def __lt__(self: __torch__.C, other: __torch__.C) -> bool:
    l = [self, other]
    l.sort()
    return True
""")
_recursion("recursion through forks", ENDS, forward("f = fork(self.forward, n)\nreturn torch.wait(f)"))
_recursion("recursion through awaitables", ENDS, forward("a = awaitable(self.forward, n)\nreturn awaitable_wait(a)"))
_recursion("a fork bomb", ENDS, forward("f = fork(self.forward, n)\ng = fork(self.forward, n)\nreturn torch.wait(f) + torch.wait(g)"))
_recursion("a fork bomb that nobody waits for", ENDS, "def g(self, n: int) -> int:\n    f = fork(self.g, n)\n    h = fork(self.g, n)\n    return n\n" + forward("f = fork(self.g, n)\nreturn n"))
_recursion("forks without end", ENDS, forward("fs: List[Future[int]] = []\nwhile True:\n    fs.append(fork(self.g, n))\nreturn torch.wait(fs[0])") + "\ndef g(self, n: int) -> int:\n    while True:\n        n += 1\n    return n")
# The forks are told by a flag when their futures are in the list: a list that grows while another thread reads it is torn.
# They count while they wait, for a loop that does nothing is left out.
_recursion("a fork that waits for itself", "can never end", "def g(self, l: List[Future[int]], ready: List[int]) -> int:\n    n = 0\n    while ready[0] == 0:\n        n += 1\n    return torch.wait(l[0]) + n\ndef h(self) -> int:\n    return 1\n" + forward("l = [fork(self.h)]\nready = [0]\nf = fork(self.g, l, ready)\nl[0] = f\nready[0] = 1\nreturn torch.wait(f)"))
_recursion("forks that wait for each other", "can never end", "def g(self, l: List[Future[int]], ready: List[int], i: int) -> int:\n    n = 0\n    while ready[0] == 0:\n        n += 1\n    return torch.wait(l[i]) + n\ndef h(self) -> int:\n    return 1\n" + forward("l = [fork(self.h), fork(self.h)]\nready = [0]\na = fork(self.g, l, ready, 1)\nb = fork(self.g, l, ready, 0)\nl[0] = a\nl[1] = b\nready[0] = 1\nreturn torch.wait(a)"))
_recursion("forks nested ten thousand deep", ANSWERS, "def g(self, n: int) -> int:\n    if n == 0:\n        return 0\n    f = fork(self.g, n - 1)\n    return torch.wait(f) + 1\n" + forward("return self.g(n * 10)"))
_recursion("an exception under forks nested ten thousand deep", "division by 0", "def g(self, n: int) -> int:\n    if n == 0:\n        return 1 // n\n    f = fork(self.g, n - 1)\n    return torch.wait(f) + 1\n" + forward("return self.g(n * 10)"))
_recursion("ten thousand forks", ANSWERS, "def g(self, n: int) -> int:\n    return n * n\n" + forward("fs: List[Future[int]] = []\nfor i in range(n * 10):\n    fs.append(fork(self.g, i))\ns = 0\nfor f in fs:\n    s += torch.wait(f)\nreturn s"))

# Loading runs code too.
STATE = b"K\x01"
for kind, body, said in (
    ("time", "while n >= 0:\n      n = (n + 1) % 1000\n    self.n = n", "longer than it may"),
    ("memory", 'l = [0]\n    while len(l) > 0:\n      l.append(n)\n    self.n = len(l)', "memory limit"),
    ("recursion", "self.__setstate__(n)\n    self.n = n", "recursion"),
):
    program(
        f"loading without end: {kind}", "loading", said, forward("return n"),
        before=f"""
class S(Module):
  __parameters__ = []
  __buffers__ = []
  n : int
  def __getstate__(self: __torch__.S) -> int:
    return 1
  def __setstate__(self: __torch__.S, n: int) -> NoneType:
    {body}
    return None
""", attributes="s : __torch__.S",
        data=handmade.pickled_object("__torch__.M", handmade.attribute("s", b"c__torch__\nS\n)\x81" + STATE + b"b")),
    )  # fmt: skip


def _pickle(name, says, data, attributes=""):
    program(name, "loading", says, forward("return n"), attributes=attributes, data=data)


_pickle("a pickle of nested lists", ENDS, b"\x80\x02" + b"]" * 100000 + b"e" * 99999 + b".")
_pickle("a pickle of nested tuples", ENDS, b"\x80\x02)" + b"\x85" * 100000 + b".")
_pickle("a nested attribute", ENDS, handmade.pickled_object("__torch__.M", handmade.attribute("x", b")" + b"\x85" * 100000)), "x : Any")
_pickle("a pickle of marks", ENDS, b"\x80\x02" + b"(" * 10000000 + b".")
_pickle("a pickle that repeats one list", ENDS, b"\x80\x02]q\x00" + b"h\x00" * 1000000 + b".")
_pickle("a pickle whose string is longer than the file", ENDS, b"\x80\x02X" + struct.pack("<I", 4000000000) + b"abc.")
_pickle("doubling tuples", ENDS, b"\x80\x02)q\x00" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86q" + bytes([i + 1]) for i in range(200)) + b".")


def _fold(name, says, expression):
    program(f"folds {name}", "loading", says, forward(f"x = {expression}\nprint(x)\nreturn n"))


_fold("an endless replace", ENDS, '"abc".replace("", "x")')
_fold("an endless count", ENDS, '"abc".count("")')
_fold("an endless rsplit", ENDS, '"abc".rsplit("")')
_fold("a huge list", "memory limit", "[0] * 10000000000")
_fold("a huge power", ENDS, "10 ** 1000000000")
_fold("a huge factorial", ENDS, "torch.factorial(1000000000)")
_fold("a huge shift", ENDS, "1 << 1000000000000")
_fold("a division by zero", "division by 0", "1 // 0")
_fold("a remainder by zero", ENDS, "1 % 0")


def _crashes(name, expression, says=ENDS, before_it=""):
    lines = f"{before_it}\nx = {expression}\nprint(x)\nreturn n" if before_it else f"x = {expression}\nprint(x)\nreturn n"
    program(f"does not crash: {name}", "where torch crashes", says, forward(lines))


MIN = "(-9223372036854775807 - n + 999)"  # INT64_MIN, not known when the archive loads
_crashes("a remainder by 0", "n % (n - 1000)", "modulo by zero")
_crashes("a division by 0", "n // (n - 1000)", "division by 0")
_crashes("divmod by 0", "divmod(n, n - 1000)", "modulo by zero")
_crashes("the least number by -1", f"{MIN} // (n - 1001)", "integer overflow")
_crashes("the least number's remainder by -1", f"{MIN} % (n - 1001)", ANSWERS)
_crashes("divmod of the least number by -1", f"divmod({MIN}, n - 1001)", "integer overflow")
_crashes("abs of the least number", f"abs({MIN})", ANSWERS)
_crashes("replacing nothing", 'str(n).replace("", "y")')
_crashes("counting nothing", 'str(n).count("")')
_crashes("splitting at nothing", 'str(n).split("")')
_crashes("splitting at nothing from the right", 'str(n).rsplit("")')
_crashes("partition at nothing", 'str(n).partition("")')
_crashes("finding nothing", 'str(n).find("", 5, 1)')
_crashes("finding far away", 'str(n).rfind("a", 9223372036854775807, -9223372036854775807)')
_crashes("a shift by a negative", "n << (n - 1064)", ANSWERS)
_crashes("a shift by much", "n >> (n * 1000)", ANSWERS)
_crashes("range with step 0", "[i for i in range(0, n, n - 1000)]", "zero")
_crashes("a slice with step 0", "[n, n][0:1:(n - 1000)]", "non-zero step")
_crashes("a slice by the least step", f"[n, n][::{MIN}]", "out of bounds")
_crashes("chr of a negative", "chr(n - 5000)")
_crashes("chr of a large number", "chr(n * 1000000)")
_crashes("ord of nothing", 'ord("")', "String for ord() must be 1 character")
_crashes("factorial of a negative", "torch.factorial(n - 5000)")
_crashes("factorial of much", "torch.factorial(n * 1000000)")
_crashes("a negative width", '"a".ljust(n - 5000) + "a".center(n - 5000) + "a".rjust(n - 5000)', ANSWERS)
_crashes("a fill of two characters", '"a".center(n, "ab")')
_crashes("a fill of none", '"a".center(n, "")')
_crashes("an index far below", "[n][-n * 1000000]", "out of range")
_crashes("a string's index far below", '"abc"[-n]', "at")
_crashes("popping nothing", "annotate(List[int], []).pop()", "pop from empty list")
_crashes("removing what is not there", "[n].index(5)", "not in list")
_crashes("min of nothing", "min(annotate(List[int], []))", "empty sequence")
_crashes("int of nonsense", 'int("12345678901234567890123")')
_crashes("float of nonsense", 'float("abc")')
_crashes("bin of the least number", f"bin({MIN})", ANSWERS)
_crashes("hex of the least number", f"hex({MIN})", ANSWERS)
_crashes("round to many digits", "round(1.5, n * 1000000)", ENDS)
_crashes("ldexp of much", "torch.ldexp(1.5, n * 1000000)", ENDS)
_crashes("gcd of the least number", f"torch.gcd({MIN}, {MIN})", ENDS)
_crashes("a zip of different lengths", "[a + b for a, b in zip([1, 2, 3], [n])]", ENDS)
_crashes("as_strided beyond the storage", "torch.ones([4]).as_strided([1000000], [1])", "out of bounds")
_crashes("as_strided with a wild offset", "torch.ones([4]).as_strided([1], [1], n * 1000000)", "out of bounds")
_crashes("as_strided with wild strides", "torch.ones([4]).as_strided([2, 2], [9223372036854775807, 1])", ENDS)
_crashes("as_strided of a negative offset", "torch.ones([4]).as_strided([1], [1], -5)", ENDS)
_crashes("set_ beyond the storage", "torch.ones([4]).set_(torch.ones([4]), n * 1000000, [10], [1])", ENDS)
_crashes("resize_ to much", "torch.ones([4]).resize_([n, 1000000000])", "memory limit")
_crashes("index_select far away", "torch.index_select(torch.ones([4]), 0, torch.tensor([n * 1000000]))")
_crashes("gather far away", "torch.gather(torch.ones([4]), 0, torch.tensor([n * 1000000]))")
_crashes("scatter far away", "torch.scatter(torch.ones([4]), 0, torch.tensor([n * 1000000]), 1.)")
_crashes("scatter_add far away", "torch.scatter_add(torch.ones([4]), 0, torch.tensor([n * 1000000]), torch.ones([1]))")
_crashes("index far away", "torch.index(torch.ones([4]), annotate(List[Optional[Tensor]], [torch.tensor([n * 1000000])]))")
_crashes("index_put far away", "torch.index_put(torch.ones([4]), annotate(List[Optional[Tensor]], [torch.tensor([n * 1000000])]), torch.ones([1]))")
_crashes("index_add far away", "torch.index_add(torch.ones([4]), 0, torch.tensor([n * 1000000]), torch.ones([1]))")
_crashes("index_fill far away", "torch.index_fill(torch.ones([4]), 0, torch.tensor([n * 1000000]), 1.)")
_crashes("index_copy far away", "torch.index_copy(torch.ones([4]), 0, torch.tensor([n * 1000000]), torch.ones([1]))")
_crashes("take far away", "torch.take(torch.ones([4]), torch.tensor([n * 1000000]))")
_crashes("put far away", "torch.put(torch.ones([4]), torch.tensor([n * 1000000]), torch.ones([1]))")
_crashes("embedding far away", "torch.embedding(torch.ones([4, 2]), torch.tensor([n * 1000000]))")
_crashes("embedding_bag far away", "torch.embedding_bag(torch.ones([4, 2]), torch.tensor([n * 1000000]), torch.tensor([0]))")
_crashes("embedding_bag with wild offsets", "torch.embedding_bag(torch.ones([4, 2]), torch.tensor([1]), torch.tensor([n * 1000000]))")
_crashes("embedding_bag with falling offsets", "torch.embedding_bag(torch.ones([4, 2]), torch.tensor([1, 1, 1]), torch.tensor([0, 3, 1]))")
_crashes("bincount of negatives", "torch.bincount(torch.tensor([-5]))")
_crashes("nll_loss with a wild target", "torch.nll_loss(torch.ones([1, 4]), torch.tensor([n * 1000000]))")
_crashes("nll_loss2d with a wild target", "torch.nll_loss2d(torch.ones([1, 4, 1, 1]), torch.full([1, 1, 1], n * 1000000))")
_crashes("multi_margin_loss with a wild target", "torch.multi_margin_loss(torch.ones([1, 4]), torch.tensor([n * 1000000]))")
_crashes("multilabel_margin_loss with a wild target", "torch.multilabel_margin_loss(torch.ones([1, 4]), torch.full([1, 4], n * 1000000))")
_crashes("ctc_loss with wild targets", "torch.ctc_loss(torch.ones([5, 1, 4]), torch.full([1, 3], n * 1000000), [5], [3])")
_crashes("ctc_loss with wild lengths", "torch.ctc_loss(torch.ones([5, 1, 4]), torch.ones([1, 3], dtype=4), [n * 1000000], [n * 1000000])")
_crashes("max_unpool far away", "torch.max_unpool2d(torch.ones([1, 1, 2, 2]), torch.full([1, 1, 2, 2], n * 1000000), [4, 4])")
_crashes("fractional_max_pool with wild samples", "torch.fractional_max_pool2d(torch.ones([1, 1, 8, 8]), [2, 2], [4, 4], torch.full([1, 1, 2], 1000.))")
_crashes("grid_sampler with wild grids", "torch.grid_sampler(torch.ones([1, 1, 4, 4]), torch.full([1, 2, 2, 2], 1e30), 0, 1, True)", ANSWERS)
_crashes("multinomial of nonsense", "torch.multinomial(torch.full([4], -1.), 2)")
_crashes("searchsorted with a wild sorter", "torch.searchsorted(torch.ones([4]), torch.ones([1]), sorter=torch.full([4], n * 1000000))")
_crashes("sparse tensors with wild indices", "torch.sparse_coo_tensor(torch.full([1, 2], n * 1000000), torch.ones([2]), [4]).to_dense()")
_crashes("sparse tensors with negative indices", "torch.sparse_coo_tensor(torch.full([1, 2], -n), torch.ones([2]), [4]).to_dense()")
_crashes("unchecked sparse tensors", "torch._sparse_coo_tensor_unsafe(torch.full([1, 2], n * 1000000), torch.ones([2]), [4]).to_dense()")
_crashes("an unchecked sparse CSR tensor", "torch._sparse_csr_tensor_unsafe(torch.tensor([0, n * 1000000]), torch.tensor([n * 1000000]), torch.ones([1]), [1, 4]).to_dense()")
_crashes("segment_reduce with wild lengths", 'torch.segment_reduce(torch.ones([4]), "sum", lengths=torch.tensor([n * 1000000]))')
_crashes("unchecked segment_reduce", 'torch.segment_reduce(torch.ones([4]), "sum", lengths=torch.tensor([n * 1000000]), unsafe=True)')
_crashes("lu_unpack with wild pivots", "torch.lu_unpack(torch.ones([3, 3]), torch.full([3], 1000000, dtype=3))")
_crashes("ldl_solve with wild pivots", "torch.linalg_ldl_solve(torch.ones([3, 3]), torch.full([3], 1000000, dtype=3), torch.ones([3, 1]))")
_crashes("lu_solve with wild pivots", "torch.linalg_lu_solve(torch.ones([3, 3]), torch.full([3], 1000000, dtype=3), torch.ones([3, 1]))")
_crashes("ormqr of odd shapes", "torch.ormqr(torch.ones([3, 5]), torch.ones([3]), torch.ones([3, 3]))")
_crashes("pad_packed of wild sizes", "torch._pad_packed_sequence(torch.ones([4, 2]), torch.tensor([n * 1000000, 1]), True, 0., 4)")
_crashes("pack_padded of wild lengths", "torch._pack_padded_sequence(torch.ones([4, 1, 2]), torch.tensor([n * 1000000]), False)")
_crashes("stft of odd sizes", "torch.stft(torch.ones([4]), n * 1000000)")
_crashes("unfold of wild sizes", "torch.ones([4]).unfold(0, n * 1000000, 1)")
_crashes("fold of odd sizes", "torch.col2im(torch.ones([1, 4, 4]), [1000000, 1000000], [2, 2], [1, 1], [0, 0], [1, 1])")
_crashes("quantizing with odd scales", "torch.quantize_per_tensor(torch.ones([4]), 0., n * 1000000, 13)")
_crashes("a histogram of nonsense", "torch.histc(torch.full([4], 1e30), n, -1., 1.)")
_crashes("a dtype that is none", "torch.zeros([2], dtype=n)", "is no dtype")
_crashes("a view as another dtype", "torch.ones([3]).view(dtype=n)", ENDS)
_crashes("a median of nothing", "torch.median(torch.ones([0]))", ANSWERS)
_crashes("an argmax of nothing", "torch.argmax(torch.ones([0]))")
_crashes("a norm over a wild dimension", "torch.norm(torch.ones([2]), 2, [n * 1000000])")
_crashes("a permutation of nonsense", "torch.permute(torch.ones([2, 2]), [n, -n])")
_crashes("65 dimensions", "torch.ones([1] * 100).sum([i for i in range(100)])")
_crashes("a convolution of stride 0", "torch.conv2d(torch.ones([1, 1, 4, 4]), torch.ones([1, 1, 2, 2]), None, [0, 0])")
_crashes("a convolution of 0 groups", "torch.conv2d(torch.ones([1, 1, 4, 4]), torch.ones([1, 1, 2, 2]), None, [1, 1], [0, 0], [1, 1], 0)")
_crashes("a pool of stride 0", "torch.max_pool2d(torch.ones([1, 1, 4, 4]), [2, 2], [0, 0])")
_crashes("a pool of a wild kernel", "torch.max_pool2d(torch.ones([1, 1, 4, 4]), [n * 1000000, 1])")
_crashes("adaptive pooling to much", "torch.adaptive_avg_pool2d(torch.ones([1, 1, 4, 4]), [1000000, 1000000])", "memory limit")
_crashes("upsampling to much", "torch.upsample_nearest2d(torch.ones([1, 1, 4, 4]), [1000000, 1000000])", "memory limit")
_crashes("upsampling to nothing", "torch.upsample_nearest2d(torch.ones([1, 1, 4, 4]), [0, 0])")
_crashes("pixel_shuffle by 0", "torch.pixel_shuffle(torch.ones([1, 4, 2, 2]), n - 1000)")
_crashes("pixel_unshuffle by 0", "torch.pixel_unshuffle(torch.ones([1, 4, 2, 2]), n - 1000)")
_crashes("channel_shuffle by 0", "torch.channel_shuffle(torch.ones([1, 4, 2, 2]), n - 1000)")
_crashes("group_norm of 0 groups", "torch.group_norm(torch.ones([1, 4]), n - 1000)")
_crashes("chunk into 0", "torch.chunk(torch.ones([4]), n - 1000)")
_crashes("split by 0", "torch.split(torch.ones([4]), n - 1000)")
_crashes("roll of nothing", "torch.roll(torch.ones([0]), n)", ANSWERS)
_crashes("an integer tensor by 0", "torch.div(torch.tensor([n]), torch.tensor([0]), rounding_mode=\"floor\")", "ZeroDivisionError")
_crashes("the least tensor by -1", f'torch.div(torch.tensor([{MIN}]), torch.tensor([-1]), rounding_mode="floor")', ENDS)
_crashes("the least tensor's remainder by -1", f"torch.remainder(torch.tensor([{MIN}]), torch.tensor([-1]))", ENDS)
_crashes("fmod of the least tensor by -1", f"torch.fmod(torch.tensor([{MIN}]), torch.tensor([-1]))", ENDS)
_crashes("a shift of tensors by much", "torch.__lshift__(torch.tensor([n]), n * 1000)", ENDS)
_crashes("a cell of wild gates", "torch.lstm_cell(torch.ones([1, 4]), [torch.ones([1, 4]), torch.ones([1, 4])], torch.ones([3, 4]), torch.ones([3, 4]))")
_crashes("from_file", 'torch.from_file("/etc/passwd", False, 10)', ENDS)
