"""Traffic of the endurance run for what keeps something from one request to the next: ensembles of models that are replaced,
sequences, recordings, shadow traffic, and loads with files of the client.

Each class puts its models into the daemon's repository and has them loaded. `turn` is what a client does again and again,
`close` what ends it; a wrong answer, or something that is left behind, raises.
"""

import base64
import concurrent.futures
import io
import json
import shutil
from typing import Tuple

import numpy as np
import torch
from torch import Tensor, nn
from tritonclient.utils import InferenceServerException

from integration_tests import rest, swaps
from integration_tests import server_models as models
from integration_tests.command_line import hearth
from integration_tests.daemon import eventually, put_model
from integration_tests.ensembles import ensemble, put_ensemble, step
from integration_tests.protocol_files import protocol_pool
from integration_tests.recordings import Recorder, inference
from integration_tests.serving import Stream, index_of, tensor


def while_it_loads(load, ask):
    """Asks until the load has ended, and raises what the load has raised."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        loading = pool.submit(load)
        while not loading.done():
            ask()
    loading.result()


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Ensembles:
    """All deployments' models and `shaped`, one behind the other. A request has one version of each, which serves when it
    comes or comes to serve meanwhile."""

    def __init__(self, traffic):
        self.deployments, self.shaped, answers = traffic.deployments, traffic.shaped, traffic.answers
        steps, given, outputs = [], "x", {"y": ("FP32", [-1, 1])}
        for name in (deployment.name for deployment in self.deployments):
            made = {path: f"{name}_{path}" for path in ("0", "1", "2")}
            steps.append(step(name, {"x": given}, made))
            outputs.update({output: ("FP32", [-1, 1]) for output in made.values()})
            given = made["0"]
        steps.append(step("shaped", {"x": given}, {"OUTPUT__0": "y"}))
        put_ensemble(traffic.server.repository, "pipeline", ensemble({"x": ("FP32", [-1, 1])}, outputs, steps))
        traffic.client.load_model("pipeline")
        self.clients = [answers.watched(kind)(traffic.server) for kind in (swaps.OverGrpc, swaps.OverRest)]

    def turn(self, draw, count):
        rows = np.float32([[draw.randint(0, 100)] for _ in range(draw.randint(1, 8))])
        least = [deployment.finished for deployment in self.deployments]
        outputs = self.clients[count % 2].ask("pipeline", rows)
        for deployment, lowest in zip(self.deployments, least, strict=True):
            own = {path: outputs[f"{deployment.name}_{path}"] for path in ("0", "1", "2")}
            problem = swaps.wrong(own, rows, lowest, deployment.begun)
            expect(problem is None, f"{deployment.name}: {problem}")
        expected = self.shaped(torch.from_numpy(rows)).flatten()
        expect(torch.allclose(torch.tensor(outputs["y"]), expected, rtol=1e-4), f"{outputs['y']} for {rows.tolist()}")

    def close(self):
        for client in self.clients:
            client.close()


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = 1.0

    def forward(self, x: Tensor, total: Tensor) -> Tuple[Tensor, Tensor]:
        total = total + x * self.weight
        return total, total


def sequences_of(idle_microseconds):
    return (
        'max_batch_size: 4 input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }\n'
        'output { name: "y" data_type: TYPE_FP32 dims: [ 1 ] }\n'
        f"sequence_batching {{ max_sequence_idle_microseconds: {idle_microseconds}\n"
        "oldest { max_candidate_sequences: 8 max_queue_delay_microseconds: 1000 }\n"
        'state { input_name: "total" output_name: "kept" data_type: TYPE_FP32 dims: [ 1 ] } }\n'
    )


class Sequences:
    """Sums of sequences side by side, which a version that is replaced meanwhile answers to their end; and sequences that
    begin and are forgotten."""

    LENGTH = 8

    def __init__(self, traffic):
        self.server, self.client, self.answers = traffic.server, traffic.client, traffic.answers
        self.model = models.scripted(Sum())
        self.lay()
        put_model(self.server.repository, "forgotten", self.model, config=sequences_of(50_000))
        self.client.load_model("forgotten")

    def lay(self):
        put_model(self.server.repository, "sums", self.model, config=sequences_of(60_000_000))
        self.client.load_model("sums")

    def turn(self, draw, count):
        names = [count * 4 + 1, count * 4 + 2, f"sequence {count}"]
        sums = dict.fromkeys(names, 0)
        weight = self.model.weight
        with Stream(self.server) as stream:
            for number in range(self.LENGTH):
                if number == self.LENGTH // 2 and count % 5 == 4:
                    self.model.weight = weight % 3 + 1
                    self.lay()
                for name in names:
                    value = draw.randint(1, 1000)
                    sums[name] += weight * value
                    given = [tensor("x", np.float32([[value]]))]
                    begins, ends = number == 0, number == self.LENGTH - 1
                    stream.send("sums", given, sequence_id=name, sequence_start=begins, sequence_end=ends)
                for name in names:
                    with self.answers.awaited("sums"):
                        answer, error = stream.next()
                    expect(error is None, f"request {number} of {name}: {error}")
                    got = answer.as_numpy("y").item()
                    expect(got == sums[name], f"request {number} of {name}: {got} for {sums[name]}")
        self.client.infer("forgotten", [tensor("x", np.float32([[1]]))], sequence_id=count + 1, sequence_start=True)

    def close(self):
        """None is left once those without an end have been idle."""
        eventually(lambda: self.server.metric("hearth_sequences") == 0)


class Recordings:
    """What others ask the model `shaped`, into a file, where inputs and answers must fit, and from there to the server
    again. In each fourth turn the client is killed instead."""

    REQUESTS = 20

    def __init__(self, traffic):
        self.server, self.shaped, self.stopping = traffic.server, traffic.shaped, traffic.stopping
        self.answers = traffic.answers
        self.folder = self.server.repository.parent / "recordings"
        self.folder.mkdir()
        self.protocol = protocol_pool(self.folder)
        self.path = self.folder / "record"

    def start(self):
        """Once the server has seen that the one before, which was killed, is gone."""
        flags = ["--answers", "--requests", str(self.REQUESTS)]

        def refused():
            self.path.unlink(missing_ok=True)
            self.recorder = Recorder(self.protocol, self.server, "shaped", self.path, *flags)
            if self.recorder.process.poll() != 2:
                return False
            text = self.recorder.end()[1]
            expect("another recording of model 'shaped' is being made" in text, text)
            return True

        eventually(lambda: not refused())
        return self.recorder

    def turn(self, draw, count):
        recorder = self.start()
        while recorder.process.poll() is None:
            x = [draw.uniform(-10, 10) for _ in range(draw.randint(1, 5))]
            request = rest.one_input("FP32", [len(x)], x)
            with self.answers.awaited("shaped"):
                status = rest.ask_json(self.server, "POST", "/v2/models/shaped/infer", request)[0]
            expect(status == 200, "no answer")
            if count % 4 == 3:
                recorder.process.kill()
        code, text = recorder.end()
        if count % 4 == 3:
            return
        expect(code == 0, text)
        recorded = recorder.requests()
        expect(len(recorded) == self.REQUESTS, f"{len(recorded)} requests: {text}")
        for each in recorded:
            request, (given,), (got,) = inference(each)
            x = torch.tensor(given).reshape(list(request.inputs[0].shape))
            expected = self.shaped(x).flatten()
            expect(torch.allclose(torch.tensor(got), expected, rtol=1e-4, atol=1e-4), f"of {list(x.shape)}")
        done = hearth("replay", self.path, self.server.address, "--compare", "--speed", "max")
        expect(done.returncode == 0, done.stdout + done.stderr)
        self.stopping.wait(0.5)

    def close(self):
        shutil.rmtree(self.folder)


class Times(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class ShadowTraffic:
    """New versions that answer copies of live requests first. Each third one answers otherwise, and is refused; clients see
    nothing of any."""

    REQUESTS = 5

    def __init__(self, traffic):
        self.server, self.client, self.stopping = traffic.server, traffic.client, traffic.stopping
        self.answers = traffic.answers
        self.model = models.scripted(Times())
        self.version = 0  # the one that serves
        self.lay(1)
        self.client.load_model("compared")
        self.version = 1

    def lay(self, version):
        settings = {"shadow_requests": self.REQUESTS, "shadow_seconds": 60}
        config = "".join(f'parameters {{ key: "{k}" value {{ string_value: "{v}" }} }}\n' for k, v in settings.items())
        put_model(self.server.repository, "compared", self.model, version, config)

    def ask(self, draw):
        # Some are so large that they lie in the message's own memory.
        x = np.full(draw.choice([1, 4096]), draw.randint(1, 1000), np.float32)
        with self.answers.awaited("compared"):
            answer = self.client.infer("compared", [tensor("x", x)], client_timeout=60)
        got = answer.as_numpy("OUTPUT__0")
        expect(np.array_equal(got, 2 * x), f"{got[0]} for {x[0]} of version {answer.get_response().model_version}")

    def turn(self, draw, count):
        differs = count % 3 == 2
        new = self.version + 1
        self.model.factor = 3.0 if differs else 2.0
        self.lay(new)
        refused = None
        try:
            while_it_loads(lambda: self.client.load_model("compared"), lambda: self.ask(draw))
        except InferenceServerException as error:
            refused = error.message()
        compared = f"compared with version {self.version} on {self.REQUESTS} live requests: largest difference "
        if differs:
            expect(refused is not None, f"version {new} serves and answers otherwise")
            expect(compared in refused and f"{self.REQUESTS} answered otherwise" in refused, refused)
        else:
            expect(refused is None, refused)
            state = index_of(self.client)["compared", str(new)]
            expect(state == ("READY", f"{compared}0"), state)
        gone, self.version = (new, self.version) if differs else (self.version, new)
        shutil.rmtree(self.server.repository / "compared" / str(gone))
        self.stopping.wait(0.5)

    def close(self):
        pass


class ClientFiles:
    """A model that is served from files of its loads, over gRPC and REST; each fourth load is of no archive and leaves what
    serves, after each tenth the model is unloaded. Only the files of what serves are on disk."""

    def __init__(self, traffic):
        self.server, self.client, self.stopping = traffic.server, traffic.client, traffic.stopping
        self.answers = traffic.answers
        (self.folder,) = self.server.repository.parent.glob("cache/hearth_client_files.*")
        self.model = models.scripted(swaps.Versioned(0))
        self.begun = self.finished = 0
        self.load("grpc", 0)

    def load(self, way, number, broken=False):
        self.model.weight.fill_(number)
        self.model.number = number
        archive = io.BytesIO()
        torch.jit.save(self.model, archive)
        # The second file is there to count: files that stayed would have the bound refuse further loads.
        files = {"file:1/model.pt": archive.getvalue(), "file:1/beside": bytes(1 << 20)}
        if broken:
            files["file:1/model.pt"] = files["file:1/model.pt"][:-100]
        if way == "grpc":
            self.client.load_model("brought", config="{}", files=files)
            return
        parameters = {path: base64.b64encode(content).decode() for path, content in files.items()}
        body = json.dumps({"parameters": {"config": "{}", **parameters}}).encode()
        status, _, text = rest.ask(self.server, "POST", "/v2/repository/models/brought/load", body)
        if status != 200:
            raise InferenceServerException(text.decode(), status=str(status))

    def ask(self, draw):
        rows = np.float32([[draw.randint(0, 100)] for _ in range(draw.randint(1, 3))])
        least = self.finished
        with self.answers.awaited("brought"):
            answer = self.client.infer("brought", [tensor("x", rows)], client_timeout=60)
        outputs = {path: answer.as_numpy(path).flatten().tolist() for path in ("0", "1", "2")}
        problem = swaps.wrong(outputs, rows, least, self.begun)
        expect(problem is None, problem)

    def on_disk(self):
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())

    def turn(self, draw, count):
        way, number = ("grpc", "rest")[count % 2], count + 1
        if count % 4 == 3:
            try:
                while_it_loads(lambda: self.load(way, number, broken=True), lambda: self.ask(draw))
            except InferenceServerException as error:
                expect("archive" in error.message(), error)
            else:
                raise AssertionError("what is no archive was loaded")
        else:
            self.begun = number
            while_it_loads(lambda: self.load(way, number), lambda: self.ask(draw))
            self.finished = number
        self.ask(draw)
        eventually(lambda: self.on_disk() == ["beside", "model.pt"])
        if count % 10 == 9:
            self.client.unload_model("brought")
            eventually(lambda: self.on_disk() == [])
            self.load(way, self.finished)
        self.stopping.wait(0.2)

    def close(self):
        self.client.unload_model("brought")
        eventually(lambda: self.on_disk() == [])


KINDS = {
    "ensemble": Ensembles,
    "sequences": Sequences,
    "record": Recordings,
    "shadow": ShadowTraffic,
    "client_files": ClientFiles,
}
