"""The model zoo: hearth's answers against torch.jit's on the same archives, through the command line and through a
server that a real client asks."""

import os

import pytest
import torch

from integration_tests.client import ask_model
from integration_tests.command_line import hearth, run_cases
from integration_tests.values import difference
from integration_tests.zoo import archives as zoo

NAMES = list(zoo.ZOO)


@pytest.fixture(scope="session")
def models():
    return zoo.ensure()


@pytest.fixture(scope="session")
def batch(models, tmp_path_factory):
    """(line, output file) by name, all from one process."""
    folder = tmp_path_factory.mktemp("zoo")
    cases = [(model.archive, model.inputs_file, folder / f"{name}.pt") for name, model in models.items()]
    lines = run_cases(cases)
    return {name: (lines[i], cases[i][2]) for i, name in enumerate(models)}


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_answers_as_torch_does(models, batch, name):
    line, output = batch[name]
    assert line == "ok"
    got = torch.load(output, weights_only=True)
    found = difference(models[name].expected(), got, tolerance=zoo.ZOO[name].tolerance)
    assert not found, found


@pytest.mark.parametrize("name", ["resnet18", "fasterrcnn_mobilenet_v3_large_320_fpn", "gpt2"])
def test_a_single_run_answers_as_torch_does(models, tmp_path, name):
    model = models[name]
    done = hearth("run", model.archive, "--inputs", model.inputs_file, "--output", tmp_path / "out.pt")
    assert done.returncode == 0, done.stderr
    # What a model warns of goes to the log.
    assert [line for line in done.stderr.splitlines() if "operators/warn" not in line] == []
    got = torch.load(tmp_path / "out.pt", weights_only=True)
    found = difference(model.expected(), got, tolerance=zoo.ZOO[name].tolerance)
    assert not found, found


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_large", "r3d_18", "swin_t", "gpt2"])
def test_a_plan_gives_the_same_bits_in_every_process_and_call(models, tmp_path, name):
    answers = []
    for calls in (1, 1, 6):
        output = tmp_path / "out.pt"
        done = hearth("run", models[name].archive, "--inputs", models[name].inputs_file, "--output", output, "--tier", "2",
                      "--repeat", str(calls), env={**os.environ, "OMP_NUM_THREADS": "2"})
        assert done.returncode == 0, done.stderr
        answers.append(torch.load(output, weights_only=True))
    for other in answers[1:]:
        found = difference(answers[0], other, tolerance=(0, 0))
        assert not found, found


@pytest.fixture(scope="module")
def server(models, hearthd, tmp_path_factory):
    repository = zoo.repository(models, tmp_path_factory.mktemp("zoo_repository"))
    return hearthd(repository, "--links-lead-out", "--operator-library", zoo.operator_library())


@pytest.mark.parametrize("name", NAMES)
def test_the_server_answers_as_torch_does(models, server, name):
    model = models[name]
    with server.client() as client:
        got = ask_model(client, name, model)
    found = difference(model.served(model.expected()), got, tolerance=model.recipe.tolerance)
    assert not found, found
