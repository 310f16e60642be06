"""Models that are replaced under load: no request is lost, none is answered by what does not serve, and none by two."""

import contextlib
import os

import pytest
import torch
from torch import Tensor, nn

from integration_tests import swaps
from integration_tests.daemon import eventually, put_model
from integration_tests.serving import answer_of, index_of
from integration_tests.server_models import constant
from integration_tests.watch import held_by


def test_fifty_swaps_under_sixteen_clients(hearthd, tmp_path):
    deployments = swaps.deploy(tmp_path / "models")
    server = hearthd(tmp_path / "models")
    with server.client() as client, swaps.Crowd(server, deployments) as crowd:
        crowd.wait_for_more(5)
        before = held_by(server.pid)
        for number in range(51):
            deployments[number % len(deployments)].swap(client)
        crowd.wait_for_more(5)
        after = held_by(server.pid)
    assert crowd.problems == []
    assert server.metric("nv_inference_exec_count", model="linked") < server.metric(
        "nv_inference_request_success", model="linked"
    )
    # A version that stayed behind would have its folder's files open, or threads.
    assert after["descriptors"] <= before["descriptors"] + 2 and after["threads"] <= before["threads"] + 2


def test_versions_that_are_swapped_out_give_their_memory_back(hearthd):
    mebibytes = 32
    server = hearthd({"m": torch.jit.script(Heavy(mebibytes, 0))})
    archives = [torch.jit.script(Heavy(mebibytes, number)) for number in (1, 2)]
    with server.client() as client:

        def swap(number):
            put_model(server.repository, "m", archives[number % 2])
            client.load_model("m")
            assert answer_of(client, "m") == [1 + number % 2]

        for number in range(4):
            swap(number)
        before = held_by(server.pid)["resident"]
        for number in range(16):
            swap(number)
        # The last one to be swapped out may still be on its way.
        eventually(lambda: held_by(server.pid)["resident"] < before + 2 * (mebibytes << 20))


class Heavy(nn.Module):
    """Answers its number, and has weights of so many mebibytes."""

    def __init__(self, mebibytes, number):
        super().__init__()
        self.register_buffer("weight", torch.full((mebibytes << 18,), float(number)))

    def forward(self, x: Tensor) -> Tensor:
        return x * 0 + self.weight[0]


class Writing:
    """An archive that comes to a model's place: `half` and later `rest` of it."""

    def __init__(self, repository, data):
        self.repository, self.data = repository, data
        self.place = repository / "m/1/model.pt"

    def half(self):
        self.file.write(self.data[: len(self.data) // 2])
        self.file.flush()

    def rest(self):
        self.file.write(self.data[len(self.data) // 2 :])
        self.file.close()


class InPlace(Writing):
    def half(self):
        self.file = open(self.place, "wb")
        super().half()


class OverTheOldOne(Writing):
    """Its new bytes take the place of the old ones, of which the second half are still there meanwhile."""

    def half(self):
        self.file = open(self.place, "r+b")
        super().half()

    def rest(self):
        self.file.truncate(len(self.data))
        super().rest()


class Beside(Writing):
    def half(self):
        self.file = open(f"{self.place}.new", "wb")
        super().half()

    def rest(self):
        super().rest()
        os.rename(f"{self.place}.new", self.place)


class Behind(Writing):
    """In a folder that a link will lead to."""

    def half(self):
        (self.repository / "..new/1").mkdir(parents=True)
        self.file = open(self.repository / "..new/1/model.pt", "wb")
        super().half()

    def rest(self):
        super().rest()
        (self.repository / "m").rename(self.repository / "..old")
        (self.repository / "m").symlink_to("..new")


@pytest.mark.parametrize("way", [InPlace, OverTheOldOne, Beside, Behind])
@pytest.mark.parametrize("mode", ["poll", "explicit"])
def test_an_archive_is_seen_once_it_is_whole(hearthd, tmp_path, mode, way):
    new = put_model(tmp_path, "new", constant(2)) / "model.pt"
    flag = "--load-model=m" if mode == "explicit" else "--repository-poll-secs=0.05"
    server = hearthd({"m": constant(1)}, f"--model-control-mode={mode}", flag)
    writing = way(server.repository, new.read_bytes())
    in_its_place = way in (InPlace, OverTheOldOne)
    with server.client() as client:
        writing.half()
        if mode == "explicit":
            with pytest.raises(Exception) if in_its_place else contextlib.nullcontext():
                client.load_model("m")
        elif in_its_place:
            eventually(lambda: index_of(client)[("m", "1")][1])  # why the half could not be loaded
        assert answer_of(client, "m") == [1]
        writing.rest()
        if mode == "explicit":
            client.load_model("m")
        eventually(lambda: answer_of(client, "m") == [2])
        assert index_of(client)[("m", "1")] == ("READY", "")
