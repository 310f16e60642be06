"""Operators and C++ classes of a user's own library, in archives that Python saved with it: in `hearth run`, and in
hearthd, for all models or with the model that needs them."""

import shutil

import numpy as np
import pytest
import torch
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from integration_tests.command_line import BUILD, hearth
from integration_tests.values import difference, plain

LIBRARY = BUILD / "lib" / "libtest_operators.so"


@pytest.fixture(scope="module", autouse=True)
def library():
    torch.classes.load_library(str(LIBRARY))


def operators():
    class Operators(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            scaled = torch.ops.hearth_test.scale(x)
            more = torch.ops.hearth_test.scale(scaled, factor=0.5)
            described, n = torch.ops.hearth_test.describe(more, [1, 2, 3])
            return described, n, scaled

    return Operators()


def unannounced_write():
    """`bump` writes its argument and does not say so: what is read after it must see that."""

    class Writes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: torch.Tensor):
            before = self.seen + x
            same = x + 0
            bumped = torch.ops.hearth_test.bump(self.seen)
            again = torch.ops.hearth_test.bump(same)
            return before, bumped, self.seen + x, same, again

    return Writes()


def tallies():
    class Tallies(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tally = torch.classes.hearth_test.Tally(["a", "b", "c"])
            self.tally.step = 3
            self.tally.see("b")
            self.tally.weight = 2.5

        def forward(self, x: torch.Tensor, word: str):
            other = self.tally.clone()
            other.step = other.step + 1
            other.see(word)
            fresh = torch.classes.hearth_test.Tally(["z"])
            fresh.see("z")
            known = word in other
            return other[word], self.tally.count("b"), len(other), known, fresh["z"], other.step, self.tally.weigh(x)

    return Tallies()


def shared_tally():
    """One object under two names, and in a list."""

    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.classes.hearth_test.Tally(["a"])
            self.b = self.a

        def forward(self, x: torch.Tensor):
            self.a.see("a")
            tallies = [self.a, self.b, torch.classes.hearth_test.Tally(["a"])]
            counts = [0]
            for tally in tallies:
                counts.append(tally.count("a"))
            return counts

    return Shared()


MODELS = {
    "operators": (operators, (torch.arange(3.0),)),
    "unannounced_write": (unannounced_write, (torch.arange(3.0),)),
    "tallies": (tallies, (torch.arange(3.0), "c")),
    "shared_tally": (shared_tally, (torch.arange(3.0),)),
}


def saved(name, path):
    torch.jit.save(torch.jit.script(MODELS[name][0]()), path)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_the_command_line_answers_as_torch_does(name, tmp_path):
    archive = saved(name, tmp_path / "m.pt")
    torch.save(MODELS[name][1], tmp_path / "in.pt")
    done = hearth("run", archive, "--inputs", tmp_path / "in.pt", "--output", tmp_path / "out.pt", "--operator-library", LIBRARY)
    assert done.returncode == 0, done.stderr
    inputs = torch.load(tmp_path / "in.pt", weights_only=True)
    expected = plain(torch.jit.load(archive)(*inputs))
    found = difference(expected, torch.load(tmp_path / "out.pt", weights_only=True))
    assert not found, found


def test_traced_calls_of_operators_are_read_too(tmp_path):
    x = torch.arange(3.0)
    torch.jit.save(torch.jit.trace(lambda x: torch.ops.hearth_test.scale(x, 3.0) + 1, x), str(tmp_path / "m.pt"))
    torch.save((x,), tmp_path / "in.pt")
    done = hearth("run", tmp_path / "m.pt", "--inputs", tmp_path / "in.pt", "--output", tmp_path / "out.pt", "--operator-library", LIBRARY)
    assert done.returncode == 0, done.stderr
    assert torch.load(tmp_path / "out.pt", weights_only=True).tolist() == [1, 4, 7]


@pytest.mark.parametrize("name, words", [("operators", "hearth_test::scale"), ("tallies", "__torch__.torch.classes.hearth_test.Tally")])
def test_without_its_library_an_archive_is_refused_by_name(name, words, tmp_path):
    archive = saved(name, tmp_path / "m.pt")
    torch.save(MODELS[name][1], tmp_path / "in.pt")
    done = hearth("run", archive, "--inputs", tmp_path / "in.pt")
    assert done.returncode == 2, done
    assert words in done.stderr
    assert "librar" in done.stderr


class Failing(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.hearth_test.fail(x)


class Missing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tally = torch.classes.hearth_test.Tally(["a"])

    def forward(self, word: str):
        return self.tally[word]


@pytest.mark.parametrize(
    "module, inputs, words",
    [
        (Failing, (torch.ones(3),), "RuntimeError: the test operator was given 3 elements"),
        (Missing, ("nothing",), "RuntimeError: the tally has no word 'nothing'"),
    ],
)
def test_what_a_library_raises_is_the_model_s_error(module, inputs, words, tmp_path):
    torch.jit.save(torch.jit.script(module()), tmp_path / "m.pt")
    torch.save(inputs, tmp_path / "in.pt")
    done = hearth("run", tmp_path / "m.pt", "--inputs", tmp_path / "in.pt", "--operator-library", LIBRARY)
    assert done.returncode == 1, done
    assert words in done.stderr


# Through a server.


def ask(server, name):
    """The answer to arange(3), by the position of its parts."""
    tensor = triton.InferInput("x", [3], "FP32").set_data_from_numpy(np.arange(3, dtype=np.float32))
    with server.client() as client:
        return client.infer(name, [tensor])


CONFIG = 'model_operations { op_library_filename: "libtest_operators.so" }'


def with_library(folder, name, config=CONFIG):
    """A repository with one model that brings its library."""
    model = folder / name
    (model / "1").mkdir(parents=True)
    saved(name, model / "1" / "model.pt")
    (model / "config.pbtxt").write_text(config)
    shutil.copy(LIBRARY, model)
    return folder


def test_a_server_s_library_is_for_all_models(hearthd, tmp_path):
    archive = saved("operators", tmp_path / "m.pt")
    server = hearthd({"a": archive, "b": archive}, "--operator-library", LIBRARY)
    for name in ("a", "b"):
        assert ask(server, name).as_numpy("0").tolist() == [1, 2, 3]


def test_a_model_brings_its_library_where_the_server_allows_it(hearthd, tmp_path):
    server = hearthd(with_library(tmp_path / "models", "operators"), "--model-operator-libraries")
    assert ask(server, "operators").as_numpy("2").tolist() == [0, 2, 4]


def test_a_model_s_library_is_not_loaded_unasked(hearthd, tmp_path):
    server = hearthd(with_library(tmp_path / "models", "operators"), "--exit-on-error=false")
    with server.client() as client:
        (model,) = client.get_model_repository_index().models
        assert model.state == "UNAVAILABLE"
        assert "hearth_test::scale" in model.reason


def test_a_model_s_library_can_only_be_in_its_folder(hearthd, tmp_path):
    elsewhere = 'model_operations { op_library_filename: "../../libtest_operators.so" }'
    flags = ["--model-operator-libraries", "--exit-on-error=false"]
    server = hearthd(with_library(tmp_path / "models", "operators", elsewhere), *flags)
    with server.client() as client:
        (model,) = client.get_model_repository_index().models
        assert "op_library_filename" in model.reason
        with pytest.raises(InferenceServerException, match="op_library_filename"):
            client.load_model("operators", config='{"model_operations": {"op_library_filename": ["/lib/libm.so.6"]}}')


def test_a_library_that_is_none_is_named(hearthd, tmp_path):
    repository = with_library(tmp_path / "models", "operators")
    (repository / "operators" / "libtest_operators.so").write_text("no library")
    server = hearthd(repository, "--model-operator-libraries", "--exit-on-error=false")
    with server.client() as client:
        (model,) = client.get_model_repository_index().models
        assert "libtest_operators.so" in model.reason
