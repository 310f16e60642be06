"""The baseline graph of real models, as `hearth inspect --graph` shows it: what loading is meant to have decided."""

import re
import warnings

import pytest
import torch
import torchvision

from integration_tests.command_line import hearth


def baseline(model, folder):
    """The text of forward's baseline graph."""
    archive = folder / "model.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(model, str(archive))
    inspected = hearth("inspect", archive, "--graph", "--method", "forward")
    assert inspected.returncode == 0, inspected.stderr
    return inspected.stdout


def kinds(graph):
    """How often each kind of node occurs."""
    found = {}
    for kind in re.findall(r"^ *(?:%.* = )?(\w+::\w+)", graph, re.MULTILINE):
        found[kind] = found.get(kind, 0) + 1
    return found


@pytest.fixture(scope="module")
def resnet18():
    return torchvision.models.resnet18(weights=None)


def test_an_evaluated_model_reads_no_attribute_and_calls_nothing(resnet18, tmp_path):
    counts = kinds(baseline(torch.jit.script(resnet18.eval()), tmp_path))
    for gone in ("prim::GetAttr", "prim::CallMethod", "prim::CallFunction", "prim::ListConstruct"):
        assert gone not in counts
    assert counts["aten::conv2d"] == 20
    assert counts["aten::batch_norm"] == 20
    # What is left to decide is whether each batch norm's input has four dimensions.
    assert counts["prim::If"] == counts["prim::RaiseException"] == 20 + 1


def test_weights_are_named_by_their_path_and_are_what_the_archive_holds(resnet18, tmp_path):
    graph = baseline(torch.jit.script(resnet18.eval()), tmp_path)
    state = resnet18.state_dict()
    frozen = dict(re.findall(r"%([\w.]+) : Tensor = prim::Constant\[value=<Tensor float32 \[([\d, ]*)\]", graph))
    assert frozen == {
        name: ", ".join(map(str, value.shape)) for name, value in state.items() if value.dtype == torch.float32
    }


def test_training_decides_while_loading(resnet18, tmp_path):
    trained = baseline(torch.jit.script(resnet18.train()), tmp_path)
    assert kinds(trained)["aten::add_"] >= 20  # num_batches_tracked
    evaluated = baseline(torch.jit.script(resnet18.eval()), tmp_path)
    assert "num_batches_tracked" not in evaluated


def test_an_attribute_that_a_method_assigns_is_read_at_run_time(tmp_path):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.scale = 3

        def forward(self, x: torch.Tensor):
            self.count += 1
            return x * self.scale, self.count

    graph = baseline(torch.jit.script(Counts()), tmp_path)
    assert 'GetAttr[name="count"]' in graph
    assert 'GetAttr[name="scale"]' not in graph
