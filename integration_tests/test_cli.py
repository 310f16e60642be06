"""The contract of the command line, which scripts rely on: what it prints, writes, and exits with."""

import json
import zipfile
from typing import List, Tuple

import numpy as np
import pytest
import torch
import torch.nn as nn

from integration_tests.command_line import HEARTH, hearth, run_cases, unescape


class Speaker(nn.Module):
    """Hooks, methods, keywords, state, and a way to raise."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("offset", torch.ones(2, dtype=torch.float64))
        self.count = 0

    def forward(self, x: torch.Tensor, scale: float = 2.0):
        self.count += 1
        if x.numel() == 0:
            raise ValueError("x is empty\nindeed")
        return {"y": self.linear(x) * scale, "count": torch.tensor(self.count)}, [1, 2], "text", None, (1.5, True)

    @torch.jit.export
    def add(self, a: int, b: int = 40) -> int:
        return a + b


def pre_hook(self, inputs: Tuple[torch.Tensor, float]) -> Tuple[torch.Tensor, float]:
    return (inputs[0] + 1, inputs[1])


class Hooked(nn.Module):
    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        return x * scale


class Shifts(nn.Module):
    """Every kind of argument that a file of inputs can hold."""

    def forward(self, xs: List[torch.Tensor], n: int, name: str, flag: bool, pair: Tuple[int, float]):
        return [x + n for x in xs], name, flag, pair


class Writer(nn.Module):
    """Writes into its arguments, and shares their memory with what it gives."""

    def forward(self, x: torch.Tensor, numbers: List[int], fail: bool = False):
        x[0] += 1
        numbers.append(7)
        if fail:
            raise ValueError("written already")
        z = torch.view_as_complex(x)
        return x.t(), z


class Random(nn.Module):
    def forward(self, n: int):
        return torch.rand(n)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("cli")
    torch.manual_seed(0)
    torch.jit.save(torch.jit.script(Speaker()), made / "speaker.pt")
    torch.jit.save(torch.jit.script(Shifts()), made / "shifts.pt")
    torch.jit.save(torch.jit.script(Writer()), made / "writer.pt")
    torch.jit.save(torch.jit.script(Random()), made / "random.pt")
    hooked = Hooked()
    hooked.register_forward_pre_hook(pre_hook)
    torch.jit.save(torch.jit.script(hooked), made / "hooked.pt")
    torch.save((torch.ones(2, 3),), made / "in.pt")
    torch.save((torch.ones(0, 3),), made / "empty.pt")
    (made / "garbage.pt").write_bytes(b"not an archive at all")
    return made


@pytest.fixture(scope="module")
def speaker(folder):
    return torch.jit.load(folder / "speaker.pt")


def one_line(text):
    return len(text.splitlines()) == 1 and text.endswith("\n")


# run


def test_run_writes_what_torch_loads(folder, speaker, tmp_path):
    done = hearth("run", folder / "speaker.pt", "--inputs", folder / "in.pt", "--output", tmp_path / "out.pt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    got = torch.load(tmp_path / "out.pt", weights_only=True)
    with torch.no_grad():
        expected = speaker(torch.ones(2, 3))
    assert torch.equal(got[0]["y"], expected[0]["y"])
    assert got[0]["count"].item() == 1
    assert got[1:] == ([1, 2], "text", None, (1.5, True))
    assert isinstance(got, tuple)


def test_run_prints_a_summary_by_path(folder):
    done = hearth("run", folder / "speaker.pt", "--inputs", folder / "in.pt")
    assert done.returncode == 0
    rows = [line.split(None, 1) for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["0.y", "0.count", "1.0", "1.1", "2", "3", "4.0", "4.1"]
    assert rows[1][1] == "int64 []        1"
    assert "float32 [2, 2]" in rows[0][1]


def test_run_prints_json(folder, speaker):
    done = hearth("run", folder / "speaker.pt", "--inputs", folder / "in.pt", "--json")
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    y = answer["value"][0]["y"]
    assert (y["dtype"], y["shape"]) == ("float32", [2, 2])
    with torch.no_grad():
        expected = speaker(torch.ones(2, 3))[0]["y"]
    assert torch.allclose(torch.tensor(y["values"]).reshape(2, 2), expected)
    assert answer["value"][1:] == [[1, 2], "text", None, [1.5, True]]
    assert len(answer["milliseconds"]) == 1
    assert answer["load_milliseconds"] > 0


def test_run_takes_keywords_and_defaults(folder, tmp_path, speaker):
    torch.save({"args": (torch.ones(1, 3),), "kwargs": {"scale": 3.0}}, tmp_path / "in.pt")
    done = hearth("run", folder / "speaker.pt", "--inputs", tmp_path / "in.pt", "--output", tmp_path / "out.pt")
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        expected = speaker(torch.ones(1, 3), scale=3.0)[0]["y"]
    assert torch.equal(torch.load(tmp_path / "out.pt", weights_only=True)[0]["y"], expected)


def test_run_calls_a_method(folder, tmp_path):
    torch.save({"kwargs": {"a": 2}}, tmp_path / "in.pt")
    done = hearth("run", folder / "speaker.pt", "--inputs", tmp_path / "in.pt", "--method", "add")
    assert (done.returncode, done.stdout) == (0, "result  int  42\n")


def test_run_takes_every_kind_of_argument(folder, tmp_path):
    torch.save(([torch.ones(1), torch.zeros(2)], 3, "é", True, (1, 2.5)), tmp_path / "in.pt")
    done = hearth("run", folder / "shifts.pt", "--inputs", tmp_path / "in.pt", "--output", tmp_path / "out.pt")
    assert done.returncode == 0, done.stderr
    got = torch.load(tmp_path / "out.pt", weights_only=True)
    assert [x.tolist() for x in got[0]] == [[4.0], [3.0, 3.0]]
    assert got[1:] == ("é", True, (1, 2.5))


def test_run_calls_the_hooks_of_the_module_but_not_of_its_method(folder, tmp_path):
    torch.save((torch.ones(1), 10.0), tmp_path / "in.pt")
    hooked = hearth("run", folder / "hooked.pt", "--inputs", tmp_path / "in.pt")
    plain = hearth("run", folder / "hooked.pt", "--inputs", tmp_path / "in.pt", "--method", "forward")
    assert (hooked.stdout, plain.stdout) == ("result  float32 [1]  [20.0]\n", "result  float32 [1]  [10.0]\n")


def test_repeat_calls_one_instance_again_on_fresh_inputs(folder):
    done = hearth("run", folder / "speaker.pt", "--inputs", folder / "in.pt", "--repeat", 3, "--json")
    answer = json.loads(done.stdout)
    assert answer["value"][0]["count"]["values"] == [3]
    assert len(answer["milliseconds"]) == 3


def test_a_model_that_raises_exits_1_with_the_traceback_down_to_the_users_line(folder):
    done = hearth("run", folder / "speaker.pt", "--inputs", folder / "empty.pt")
    assert (done.returncode, done.stdout) == (1, "")
    assert "The following operation failed in the TorchScript interpreter." in done.stderr
    assert 'File "code/__torch__/' in done.stderr
    assert f'File "{__file__}", line ' in done.stderr
    assert 'raise ValueError("x is empty\\nindeed")' in done.stderr
    assert done.stderr.rstrip().endswith("builtins.ValueError: x is empty\nindeed")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "ARCHIVE"),
        (["run", "{folder}/speaker.pt"], "--inputs"),
        (["run", "{folder}/none.pt", "--inputs", "{folder}/in.pt"], "none.pt"),
        (["run", "{folder}/garbage.pt", "--inputs", "{folder}/in.pt"], "garbage.pt"),
        (["run", "{folder}/in.pt", "--inputs", "{folder}/in.pt"], "in.pt"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/none.pt"], "none.pt"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/garbage.pt"], "garbage.pt"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/in.pt", "--method", "none"], "none"),
        (["run", "{folder}/shifts.pt", "--inputs", "{folder}/in.pt"], "xs"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/in.pt", "--device", "toaster"], "toaster"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/in.pt", "--repeat", "0"], "repeat"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/in.pt", "--operator-library", "/none.so"], "none.so"),
        (["run", "{folder}/speaker.pt", "--inputs", "{folder}/in.pt", "--output", "/none/out.pt"], "/none/out.pt"),
        (["run", "--cases", "{folder}/none.txt"], "none.txt"),
        (["inspect"], "ARCHIVE"),
        (["inspect", "{folder}/garbage.pt"], "garbage.pt"),
        (["inspect", "{folder}/speaker.pt", "--method", "none"], "forward"),
        (["infer", "localhost:1"], "MODEL"),
        (["infer", "localhost:1", "m"], "--input"),
        (["infer", "localhost:1", "m", "--random"], "localhost:1"),
        (["sing"], "sing"),
        ([], "subcommand"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_use_exits_2_with_one_line(folder, arguments, says):
    done = hearth(*[argument.format(folder=folder) for argument in arguments])
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert one_line(done.stderr), done.stderr
    assert says in done.stderr


@pytest.mark.parametrize("content", [torch.ones(1), {"x": 1}, {"args": 3}, {"kwargs": [1]}, "text"])
def test_inputs_of_another_form_are_bad_use(folder, tmp_path, content):
    torch.save(content, tmp_path / "in.pt")
    done = hearth("run", folder / "speaker.pt", "--inputs", tmp_path / "in.pt")
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert "args" in done.stderr


def test_arguments_that_do_not_fit_say_what_was_expected_and_what_came(folder, tmp_path):
    torch.save(("text",), tmp_path / "in.pt")
    done = hearth("run", folder / "speaker.pt", "--inputs", tmp_path / "in.pt")
    assert done.returncode == 2
    for word in ("x", "Tensor", "str"):
        assert word in done.stderr


def test_help_and_version_exit_0():
    assert hearth("--help").returncode == 0
    assert hearth("run", "--help").returncode == 0
    assert hearth("--version").stdout.startswith("hearth ")


# run --cases


def test_cases_answer_a_line_each_and_never_end_early(folder, tmp_path):
    outputs = [tmp_path / f"{i}.pt" for i in range(6)]
    torch.save((2, 3), tmp_path / "add.pt")
    cases = [
        (folder / "speaker.pt", folder / "in.pt", outputs[0]),
        (folder / "garbage.pt", folder / "in.pt", outputs[1]),
        (folder / "speaker.pt", folder / "empty.pt", outputs[2]),
        ("too few fields",),
        (folder / "speaker.pt", folder / "in.pt", "/none/out.pt"),
        (folder / "speaker.pt", tmp_path / "add.pt", outputs[5], "add"),
    ]
    lines = run_cases(cases)
    assert [line.split(" ")[0] for line in lines] == ["ok", "bad", "raised", "bad", "bad", "ok"]
    assert unescape(lines[2].removeprefix("raised ")) == "builtins.ValueError: x is empty\nindeed"
    assert "garbage.pt" in lines[1]
    assert torch.load(outputs[5], weights_only=True) == 5
    assert [path.exists() for path in outputs] == [True, False, False, False, False, True]


def test_each_case_gets_a_module_fresh_from_the_archive(folder, tmp_path):
    outputs = [tmp_path / "a.pt", tmp_path / "b.pt"]
    assert run_cases([(folder / "speaker.pt", folder / "in.pt", output) for output in outputs]) == ["ok", "ok"]
    assert [torch.load(output, weights_only=True)[0]["count"].item() for output in outputs] == [1, 1]


def test_rows_of_one_archive_share_its_module_where_it_is_kept_loaded(folder, tmp_path):
    outputs = [tmp_path / f"{i}.pt" for i in range(4)]
    torch.save((2, 3), tmp_path / "add.pt")
    cases = [
        (folder / "speaker.pt", folder / "in.pt", outputs[0]),
        (folder / "speaker.pt", folder / "in.pt", outputs[1]),
        (folder / "random.pt", tmp_path / "add.pt", "-"),
        (folder / "speaker.pt", folder / "in.pt", outputs[2]),
    ]
    run_cases(cases, extra=["--keep-loaded"])
    assert [torch.load(output, weights_only=True)[0]["count"].item() for output in outputs[:3]] == [1, 2, 1]


def test_the_arguments_are_written_as_the_call_left_them_and_share_memory_with_the_answer(folder, tmp_path):
    torch.save((torch.zeros(3, 2), [1]), tmp_path / "in.pt")
    torch.save((torch.zeros(3, 2), [1], True), tmp_path / "fail.pt")
    one = hearth(
        "run", folder / "writer.pt", "--inputs", tmp_path / "in.pt", "--output", tmp_path / "0.pt", "--with-arguments"
    )
    assert one.returncode == 0
    cases = [(folder / "writer.pt", tmp_path / inputs, tmp_path / out) for inputs, out in [("in.pt", "1.pt"), ("fail.pt", "2.pt")]]
    lines = run_cases(cases, extra=["--with-arguments"])
    assert lines == ["ok", "raised builtins.ValueError: written already"]
    for out in ("0.pt", "1.pt"):
        content = torch.load(tmp_path / out, weights_only=True)
        x, numbers = content["args"]
        transposed, as_complex = content["result"]
        assert x.tolist() == [[1, 1], [0, 0], [0, 0]]
        assert numbers == [1, 7]
        assert transposed.stride() == (1, 2)
        x[1] = 5
        assert transposed[:, 1].tolist() == [5, 5]
        assert as_complex[1].item() == 5 + 5j
    raised = torch.load(tmp_path / "2.pt", weights_only=True)
    assert sorted(raised) == ["args", "kwargs"]
    assert raised["args"][1] == [1, 7]


def test_a_seed_makes_random_operators_draw_what_torch_draws(folder, tmp_path):
    torch.save((5,), tmp_path / "in.pt")
    outputs = [tmp_path / f"{i}.pt" for i in range(4)]
    row = (folder / "random.pt", tmp_path / "in.pt")
    assert run_cases([(*row, outputs[0], "", 3), (*row, outputs[1])], extra=["--seed", 4]) == ["ok", "ok"]
    done = hearth("run", row[0], "--inputs", row[1], "--output", outputs[2], "--seed", 5, "--repeat", 3)
    assert done.returncode == 0
    for seed, output in zip((3, 4, 5), outputs):
        torch.manual_seed(seed)
        assert torch.equal(torch.load(output, weights_only=True), torch.rand(5))
    assert run_cases([(*row, outputs[3], "", "-1")])[0].startswith("bad a seed is a number")


def test_cases_may_come_from_a_file(folder, tmp_path):
    (tmp_path / "cases.txt").write_text(f"{folder}/speaker.pt\t{folder}/in.pt\t-\n")
    done = hearth("run", "--cases", tmp_path / "cases.txt")
    assert (done.returncode, done.stdout) == (0, "ok\n")


# inspect


def test_inspect_shows_methods_attributes_and_operators(folder):
    done = hearth("inspect", folder / "speaker.pt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "8 parameters in 2 tensors (32 B)" in done.stdout
    assert "add(a: int, b: int = 40) -> int" in done.stdout
    assert "linear.weight" in done.stdout
    assert "aten::linear" in done.stdout


def test_inspect_prints_json(folder):
    done = hearth("inspect", folder / "speaker.pt", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    methods = {method["name"]: method for method in told["methods"]}
    assert set(methods) == {"forward", "add"}
    assert methods["add"]["arguments"] == [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 40}]
    assert methods["add"]["returns"] == ["int"]
    assert told["parameters"] == {"tensors": 2, "elements": 8, "bytes": 32}
    assert told["buffers"] == {"tensors": 1, "elements": 2, "bytes": 16}
    assert set(told["dtypes"]) == {"float32", "float64"}
    attributes = {attribute["path"]: attribute for attribute in told["attributes"]}
    assert attributes["linear.weight"]["kind"] == "parameter"
    assert attributes["offset"]["kind"] == "buffer"
    assert attributes["count"] == {"path": "count", "type": "int", "kind": "attribute", "value": "0"}
    assert "aten::linear" in [operator["name"] for operator in told["operators"]]


def test_inspect_shows_the_graph_and_the_source(folder):
    graph = hearth("inspect", folder / "speaker.pt", "--method", "add", "--graph")
    assert graph.returncode == 0
    assert "aten::add" in graph.stdout
    emitted = hearth("inspect", folder / "speaker.pt", "--method", "forward", "--graph", "--stage", "emitted")
    assert "prim::If" in emitted.stdout
    code = hearth("inspect", folder / "speaker.pt", "--method", "add", "--code")
    assert code.returncode == 0
    assert "def add(" in code.stdout
    assert "def forward(" not in code.stdout
    everything = hearth("inspect", folder / "speaker.pt", "--code")
    assert "class Linear(Module)" in everything.stdout


def test_inspect_names_operators_that_this_build_lacks(folder, tmp_path):
    source = folder / "speaker.pt"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(tmp_path / "odd.pt", "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("test_cli.py"):
                data = data.replace(b"torch.add(a, b)", b"ops.mylib.frobnicate(a, b)")
            new.writestr(entry.filename, data)
    done = hearth("inspect", tmp_path / "odd.pt")
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert "mylib::frobnicate" in done.stderr


def test_a_closed_pipe_does_not_matter(folder):
    """`hearth ... | head -1` is how people look at things."""
    import subprocess

    command = f"{HEARTH} inspect {folder / 'speaker.pt'} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(folder / "speaker.pt")


# infer, against a server


class Echo(nn.Module):
    """Answers what it is given, in a dict."""

    def forward(self, x: torch.Tensor, words: List[str]):
        if x.numel() == 1:
            raise ValueError("one is too few")
        return {"x": x, "words": words, "sum": x.sum()}


class Half(nn.Module):
    def forward(self, x: torch.Tensor):
        return x * 2


HALF_CONFIG = """
input [ { name: "x" data_type: TYPE_BF16 dims: [ -1 ] } ]
output [ { name: "y" data_type: TYPE_BF16 dims: [ -1 ] } ]
"""


@pytest.fixture(scope="module")
def server(hearthd):
    half = torch.jit.script(Half())
    return hearthd({"echo": torch.jit.script(Echo()), "half": (half, HALF_CONFIG), "plain": half})


@pytest.fixture
def words(tmp_path):
    np.save(tmp_path / "words.npy", np.array(["é", "", "plain"]))
    return f"words={tmp_path}/words.npy"


DTYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", ">f4", ">i8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_infer_sends_and_writes_numpys_files_of_every_dtype(server, words, tmp_path, dtype):
    x = np.array([[0, 1, 2], [3, 4, 100]]).astype(dtype)
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    done = hearth(
        "infer", server.address, "echo", "--input", f"x={tmp_path}/x.npy", "--input", words,
        "--output", "x", "--output", "words", "--output-dir", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    got = np.load(tmp_path / "out" / "x.npy")
    assert got.dtype == np.dtype(dtype).newbyteorder("<")
    assert np.array_equal(got, x)
    assert [word.decode() for word in np.load(tmp_path / "out" / "words.npy")] == ["é", "", "plain"]


def test_infer_prints_a_row_for_each_output(server, words, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.5, 2.5], dtype=np.float32))
    done = hearth("infer", server.address, "echo", "--input", f"x={tmp_path}/x.npy", "--input", words)
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["x", "FP32", "[2]", "[1.5,", "2.5]"],
        ["words", "BYTES", "[3]", '["é",', '"",', '"plain"]'],
        ["sum", "FP32", "[]", "4.0"],
    ]


def test_infer_prints_json(server, words, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, 2], dtype=np.int64))
    done = hearth("infer", server.address, "echo", "--input", f"x={tmp_path}/x.npy", "--input", words, "--json")
    answer = json.loads(done.stdout)
    assert answer["model"] == "echo"
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert (outputs["x"]["datatype"], outputs["x"]["shape"], outputs["x"]["values"]) == ("INT64", [2], [1, 2])
    assert outputs["words"]["values"] == ["é", "", "plain"]


def test_infer_turns_floats_into_bf16_where_the_model_takes_it(server, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.5, 3.1416], dtype=np.float32))
    done = hearth("infer", server.address, "half", "--input", f"x={tmp_path}/x.npy", "--output-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    expected = (torch.tensor([1.5, 3.1416]).bfloat16() * 2).float().numpy()
    assert np.array_equal(np.load(tmp_path / "y.npy"), expected)


def test_infer_asks_with_random_numbers_that_stay_the_same(server):
    asked = [hearth("infer", server.address, "half", "--random", "--shape", "x=5", *more) for more in ([], [], ["--seed", 7])]
    assert [done.returncode for done in asked] == [0, 0, 0], asked[0].stderr
    assert asked[0].stdout == asked[1].stdout != asked[2].stdout
    assert "BF16 [5]" in asked[0].stdout


def test_infer_asks_for_the_shape_that_no_configuration_gives(server):
    refused = hearth("infer", server.address, "plain", "--random")
    assert refused.returncode == 2
    assert "--shape x=" in refused.stderr
    done = hearth("infer", server.address, "plain", "--random", "--shape", "x=2x3")
    assert done.returncode == 0, done.stderr
    assert "FP32 [2, 3]" in done.stdout


def test_infer_of_a_model_that_raises_exits_1_with_the_traceback(server, words, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1], dtype=np.float32))
    done = hearth("infer", server.address, "echo", "--input", f"x={tmp_path}/x.npy", "--input", words)
    assert done.returncode == 1
    assert 'raise ValueError("one is too few")' in done.stderr
    assert done.stderr.rstrip().endswith("builtins.ValueError: one is too few")


def test_what_the_server_refuses_is_one_line_and_2(server, words, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1], dtype=np.float32))
    np.save(tmp_path / "z.npy", np.array([1j]))
    for arguments in (
        ["nowhere", "--random"],
        ["echo", "--input", f"nope={tmp_path}/x.npy"],
        ["echo", "--input", f"x={tmp_path}/none.npy"],
        ["echo", "--input", f"x={tmp_path}/z.npy"],
        ["echo", "--input", words],
        ["half", "--random", "--shape", "y=3"],
        ["half", "--random", "--model-version", "7"],
    ):
        done = hearth("infer", server.address, *arguments)
        assert done.returncode == 2, done
        assert one_line(done.stderr), done.stderr
