"""The Python client (clients/python) against a live daemon, and what it sends against a server of the test's own."""

import asyncio
import contextlib
import dataclasses
import enum
import pickle
import subprocess
import sys
import threading
from concurrent import futures
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import grpc
import hearth
import ml_dtypes
import numpy as np
import pytest
import torch
from hearth import errors, protocol
from hearth.operations import call_request
from torch import Tensor, nn

from integration_tests import ROOT
from integration_tests.certificates import Authority, token_line
from integration_tests.daemon import eventually, put_model
from integration_tests.server_models import constant, everyday


class Kind(enum.Enum):
    CAT = 1
    DOG = 2


class Box(NamedTuple):
    corners: Tensor
    label: str


@torch.jit.script
class Counter:
    def __init__(self, start: int, name: str):
        self.start = start
        self.name = name


class Tagger(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def tag(self, x: Tensor, labels: List[str], scale: float = 1.0) -> Dict[str, Tensor]:
        return {label: x * scale for label in labels}

    @torch.jit.export
    def any(self, x: Any) -> Any:
        return x

    @torch.jit.export
    def box(self, box: Box) -> Box:
        return Box(box.corners + 1, box.label + "!")

    @torch.jit.export
    def counter(self, counter: Counter) -> Counter:
        counter.start += 1
        return counter

    @torch.jit.export
    def kind(self, kind: Kind) -> Tuple[Kind, Optional[int]]:
        return kind, None

    @torch.jit.export
    def device(self, x: torch.device) -> torch.device:
        return x

    @torch.jit.export
    def made(self, dtype: int) -> Tensor:
        return torch.arange(3).to(dtype)

    @torch.jit.export
    def fails(self) -> int:
        raise ValueError("no such luck")

    @torch.jit.export
    def spin(self, rounds: int) -> int:
        for i in range(rounds):
            rounds += i % 2
        return rounds


@pytest.fixture(scope="module")
def server(hearthd):
    return hearthd({**everyday(), "tagger": torch.jit.script(Tagger())})


@pytest.fixture(scope="module")
def client(server):
    with hearth.Client(server.address, timeout=60) as made:
        yield made


@pytest.fixture(scope="module")
def tagger(client):
    return client.model("tagger")


def asynchronously(server, work, **options):
    """Runs work(client), a coroutine, with an AsyncClient."""

    async def run():
        async with hearth.AsyncClient(server.address, timeout=60, **options) as client:
            return await work(client)

    return asyncio.run(run())


FOREVER = 2**60


# Values


def test_methods_are_called_like_those_of_an_object(tagger):
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(tagger(x), x)
    answer = tagger.tag(x, labels=["a", "b"], scale=2)
    assert list(answer) == ["a", "b"]
    np.testing.assert_array_equal(answer["b"], x * 2)
    assert tagger.method("any")(3) == 3
    with pytest.raises(AttributeError):
        tagger._private


@pytest.mark.parametrize(
    "value",
    [
        None, True, -(2**63), 1.5, float("inf"), 1 + 2j, "é\0", [1, 2], [[1], [2]], (1, "a", None), {"a": 1, "b": 2}, {1: [1.5]},
        ["a", "b"], (),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_come_back_as_they_were(tagger, value):
    got = tagger.any((value,))
    assert got == (value,) and type(got[0]) is type(value)


def test_numpys_scalars_are_numbers(tagger):
    assert tagger.any((np.float32(1.5), np.int8(3), np.bool_(True), np.complex64(1j))) == (1.5, 3, True, 1j)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "uint32", "float16", "float64", "complex64", "bfloat16"])
def test_arrays_come_back_as_they_were(tagger, dtype):
    for array in (np.ones((2, 3)), np.zeros((0, 4)), np.float64(2).reshape(())):
        array = np.asarray(array).astype(getattr(ml_dtypes, dtype, dtype))
        got = tagger(array)
        assert got.dtype == array.dtype and got.shape == array.shape and got.flags.writeable
        np.testing.assert_array_equal(got, array)


def test_arrays_of_any_layout_and_byte_order_are_read_as_they_look(tagger):
    wide = np.arange(12, dtype=">i4").reshape(3, 4)
    for array in (wide, wide.T, wide[::-1, 1::2]):
        np.testing.assert_array_equal(tagger(array), array)


def test_tensors_come_as_those_that_were_sent_unless_the_client_says(server, client, tagger):
    x = torch.ones(2, 2, requires_grad=True).t()
    assert torch.equal(tagger(x), x.detach())
    assert torch.equal(tagger.any([x])[0], x.detach())
    assert isinstance(tagger(np.ones(2)), np.ndarray)
    with hearth.Client(server.address, tensors="torch") as of_torch, hearth.Client(server.address, tensors="numpy") as of_numpy:
        assert isinstance(of_torch.call("tagger", args=[np.ones(2)]), Tensor)
        assert isinstance(of_numpy.call("tagger", args=[torch.ones(2)]), np.ndarray)
    with pytest.raises(ValueError, match="'numpy', 'torch' or None, got 'jax'"):
        hearth.Client(server.address, tensors="jax")


def test_a_dtype_that_numpy_lacks_names_the_remedy(server, tagger):
    script = f"""
import sys
sys.modules["ml_dtypes"] = None
import hearth
try:
    hearth.Client("{server.address}").model("tagger").made(15)
except TypeError as error:
    print(error)
"""
    assert "numpy has no dtype bfloat16: install ml_dtypes" in run_python(script)
    assert tagger.made(15).dtype == ml_dtypes.bfloat16


def test_named_tuples_objects_enums_and_devices_cross(tagger):
    box = tagger.box(Box(torch.zeros(2), "cat"))
    assert (box.label, box.corners.tolist(), type(box).__name__) == ("cat!", [1, 1], "Box")
    assert tagger.box(box).label == "cat!!"
    counter = tagger.counter(Counter(4, "n"))
    assert (counter.start, counter.name) == (5, "n") and counter.type_name.endswith("Counter")
    assert tagger.counter(counter) == hearth.Object("", start=6, name="n")
    assert repr(counter) == "Counter(start=5, name='n')"

    @dataclasses.dataclass
    class Other:
        start: int
        name: str

    assert tagger.counter(Other(1, "d")).start == 2
    kind, nothing = tagger.kind(Kind.DOG)
    assert (kind.name, kind.value, nothing) == ("DOG", 2, None) and kind.type_name.endswith("Kind")
    assert tagger.kind(kind)[0] == kind
    assert tagger.device(torch.device("cuda:1")) == tagger.device(hearth.Device("cuda:1")) == "cuda:1"


def test_what_has_no_form_is_refused_before_it_is_sent_and_where_it_stands(tagger):
    deep = []
    deep.append(deep)
    for value, error, expected in (
        ({"a": [1, object()]}, TypeError, "argument 1['a'][1]: object has no form in TorchScript"),
        (len, TypeError, "argument 1: builtin_function_or_method has no form"),
        (2**63, ValueError, "an int of TorchScript has 64 bits, got 9223372036854775808"),
        (np.array(["a"]), TypeError, "an array of dtype <U1 is no tensor"),
        (torch.ones(2).to_sparse(), TypeError, "a sparse_coo tensor has no form"),
        (torch.quantize_per_tensor(torch.ones(1), 1.0, 0, torch.quint8), TypeError, "a quantized tensor has no form"),
        (deep, ValueError, "values nest at most 32 deep"),
    ):
        with pytest.raises(error) as caught:
            tagger.any(value)
        assert expected in str(caught.value), value
    with pytest.raises(TypeError, match="argument 'labels'.1.: "):
        tagger.tag(np.ones(1), labels=["a", object])


def test_what_is_sent_is_not_described_beside():
    class Key(str):
        described = 0

        def __repr__(self):
            Key.described += 1
            return super().__repr__()

    tree = {Key("k"): {Key("l"): [1] * 100}}
    call_request("tagger", "any", [tree], {})
    assert Key.described == 0
    tree["k"]["l"][99] = object()
    with pytest.raises(TypeError, match=r"argument 1\['k'\]\['l'\]\[99\]: object has no form"):
        call_request("tagger", "any", [tree], {})
    assert Key.described == 2


def run_python(script):
    environment = {"PYTHONPATH": str(ROOT / "clients/python"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_needs_no_torch(server):
    script = f"""
import sys
sys.modules["torch"] = None
import hearth, numpy
with hearth.Client("{server.address}") as client:
    print(client.model("tagger").tag(numpy.ones(2), labels=["a"])["a"].tolist(), client.metadata("two").inputs[0].datatype)
"""
    assert run_python(script) == "[1.0, 1.0] FP32\n"


def test_it_shares_a_process_with_other_clients_of_the_protocol(server):
    """Whose messages have the same names."""
    script = f"""
import hearth, tritonclient.grpc
print(tritonclient.grpc.InferenceServerClient("{server.address}").is_server_ready(), hearth.Client("{server.address}").is_ready())
"""
    assert run_python(script) == "True True\n"


# The standard protocol


def test_named_tensors_go_in_and_come_out(client):
    ones = np.ones((1, 3), np.float32)
    answer = client.infer("two", {"INPUT__0": ones, "INPUT__1": torch.ones(1, 3)})
    assert {name: value.tolist() for name, value in answer.items()} == {"OUTPUT__0": [[2, 2, 2]], "OUTPUT__1": [[0, 0, 0]]}
    assert list(client.infer("two", {"INPUT__0": ones, "INPUT__1": ones}, outputs=["OUTPUT__1"])) == ["OUTPUT__1"]
    names = {"names": ["a", b"\xc3\xa9\0"], "images.0": ones, "pair.0": np.int64(1), "pair.1": ones, "options.k": ones}
    answer = client.infer("nested", names, id="x")
    assert [value.tolist() for name, value in answer.items() if name.startswith("4")] == [[b"a!", "é\0!".encode()]]
    with pytest.raises(TypeError, match="input 'x': the protocol has no datatype for complex64"):
        client.infer("identity", {"x": np.ones(1, np.complex64)})
    with pytest.raises(TypeError, match="input 'x': expected str or bytes, got NoneType"):
        client.infer("identity", {"x": [None]})
    with pytest.raises(TypeError, match="parameter 'p': expected bool, int, float or str, got list"):
        client.infer("identity", {"x": ones}, parameters={"p": []})


def test_models_are_described(client):
    metadata = client.metadata("two")
    assert metadata.name == "two" and metadata.versions == ["1"]
    assert metadata.inputs[0] == hearth.TensorMetadata("INPUT__0", "FP32", [-1, 3])
    assert client.config("two")["max_batch_size"] == 4
    assert client.server_metadata() == hearth.ServerMetadata("hearth", hearth.__version__, client.server_metadata().extensions)
    methods = {method.name: method for method in client.methods("tagger")}
    assert str(methods["tag"]) == "tag(x: Tensor, labels: List[str], scale: float = 1.0) -> Dict[str, Tensor]"
    assert methods["tag"].arguments[2] == hearth.Argument("scale", "float", True, 1.0)
    assert client.is_live() and client.is_ready() and client.is_model_ready("two") and not client.is_model_ready("nobody")


def test_models_are_loaded_unloaded_and_counted(client):
    client.infer("identity", {"x": np.ones(1, np.float32)})
    [counted] = client.statistics("identity")
    assert counted["name"] == "identity" and counted["inference_stats"]["success"]["count"] >= 1
    client.unload("dict")
    eventually(lambda: not client.is_model_ready("dict"))
    assert {"dict": "UNAVAILABLE"}.items() <= {model.name: model.state for model in client.index()}.items()
    assert "dict" not in {model.name for model in client.index(ready=True)}
    client.load("dict")
    assert client.is_model_ready("dict")
    client.load("dict", config={"max_batch_size": 0, "parameters": {"note": {"string_value": "x"}}})
    assert client.config("dict")["parameters"]["note"] == {"string_value": "x"}


def test_a_model_is_rolled_back(hearthd):
    server = hearthd({"m": constant(1)})
    put_model(server.repository, "m", constant(2), version=2)

    def answer(client):
        return client.call("m", args=[np.zeros(1, np.float32)]).tolist()

    with hearth.Client(server.address) as client:
        client.load("m")
        assert answer(client) == [2]
        client.rollback("m")
        assert answer(client) == [1]
        client.rollback("m", version=2)
        assert answer(client) == [2]
        with pytest.raises(hearth.HearthError, match="version 7 of 'm'"):
            client.rollback("m", version=7)


def test_plans_are_asked_for_and_listed(client):
    client.call("scaled", args=[np.ones(2, np.float32)])
    assert client.warm("scaled")["plans"] >= 1
    assert client.plans("scaled", graphs=True)["plans"][0]["state"] == "COMPILED"


def test_a_stream_answers_in_order_and_outlives_an_error(client, server):
    inputs = [{"x": np.full(2, i, np.float32)} for i in range(5)]
    inputs[2] = {"y": np.ones(1)}
    answers = list(client.infer_stream("identity", iter(inputs)))
    assert [answer.error is not None for answer in answers] == [False, False, True, False, False]
    assert [answer.get()["OUTPUT__0"][0] for answer in answers if not answer.error] == [0, 1, 3, 4]
    with pytest.raises(hearth.HearthError, match="'y'"):
        answers[2].get()

    async def ask(client):
        async def later():
            for i in range(3):
                yield {"x": np.full(1, i, np.float32)}

        results = []
        for made in (later(), inputs[3:]):
            results += [answer.get()["OUTPUT__0"].tolist() async for answer in client.infer_stream("identity", made)]
        return results

    assert asynchronously(server, ask) == [[0], [1], [2], [3, 3], [4, 4]]


def test_a_stream_whose_inputs_cannot_be_made_says_so(client, server):
    inputs = [{"x": np.ones(1, np.float32)}, {"x": np.ones(1, np.complex64)}]
    with pytest.raises(TypeError, match="no datatype for complex64"):
        list(client.infer_stream("identity", inputs))

    async def ask(client):
        async for _ in client.infer_stream("identity", inputs):
            pass

    with pytest.raises(TypeError, match="no datatype for complex64"):
        asynchronously(server, ask)


# asyncio


def test_the_asyncio_client_does_the_same(server):
    async def ask(client):
        await client.wait_until_ready()
        tagger = client.model("tagger")
        many = await asyncio.gather(*(tagger.any(i) for i in range(20)))
        with pytest.raises(hearth.InvalidArgument):
            await tagger.tag(1)
        return many, (await client.metadata("two")).inputs[0].name, await client.infer("identity", {"x": np.ones(1)})

    many, name, answer = asynchronously(server, ask)
    assert (many, name, answer["OUTPUT__0"].tolist()) == (list(range(20)), "INPUT__0", [1])


def test_a_cancelled_task_cancels_its_call(server):
    def running():
        return server.metric("hearth_in_flight_requests", model="tagger")

    async def ask(client):
        task = asyncio.ensure_future(client.model("tagger").spin(FOREVER))
        while running() != 1:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asynchronously(server, ask)
    eventually(lambda: running() == 0)


# Errors, deadlines, credentials


def test_errors_have_classes(client, tagger):
    with pytest.raises(hearth.InvalidArgument, match="argument 'x': expected Tensor, got str"):
        tagger("a")
    with pytest.raises(ValueError):
        tagger("a")
    with pytest.raises(LookupError):
        tagger.nothing()
    with pytest.raises(hearth.NotFound, match="nobody"):
        client.metadata("nobody")
    with pytest.raises(hearth.NotFound):
        client.model("tagger", version="9")(np.ones(1))
    with pytest.raises(hearth.ModelError, match="no such luck") as caught:
        tagger.fails()
    assert 'raise ValueError("no such luck")' in caught.value.message
    assert caught.value.status == grpc.StatusCode.INTERNAL
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.message, str(again)) == (hearth.ModelError, caught.value.message, str(caught.value))


def test_every_status_becomes_an_error():
    for status in grpc.StatusCode:
        error = errors.error_of(status, "why")
        assert isinstance(error, hearth.HearthError) and str(error) == f"{status.name}: why"


def test_a_call_ends_at_its_timeout_or_the_models_or_the_clients(server, client):
    for ask in (
        lambda: client.call("tagger", "spin", [FOREVER], timeout=0.2),
        lambda: client.model("tagger", timeout=0.2).spin(FOREVER),
        lambda: hearth.Client(server.address, timeout=0.2).model("tagger").spin(FOREVER),
    ):
        with pytest.raises(hearth.DeadlineExceeded):
            ask()
    with pytest.raises(TimeoutError):
        client.call("tagger", "spin", [FOREVER], timeout=0.2)


def test_nobody_at_the_address_is_unavailable_and_is_waited_for_in_bounds():
    with hearth.Client("127.0.0.1:1") as client:
        with pytest.raises(hearth.Unavailable):
            client.is_ready()
        with pytest.raises(hearth.DeadlineExceeded):
            client.wait_until_ready(timeout=0.3)


def test_threads_share_a_client(tagger):
    wrong = []

    def ask(i):
        wrong.extend(i for _ in range(20) if tagger.any(i) != i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A certificate for `models.test` that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("certificates")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=models.test"
    command += " -addext subjectAltName=DNS:models.test -keyout key.pem -out cert.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder


@contextlib.contextmanager
def echoing(credentials=None):
    """A server whose answer to a call is what came with it, and its port."""

    def call(request, context):
        answer = protocol.message("hearth.v1.CallResponse")()
        for name, value in context.invocation_metadata():
            entry = answer.result.dict.entries.add()
            entry.key.str_value, entry.value.str_value = name, value
        return answer

    rpc = protocol.rpc(protocol.NATIVE, "Call")
    handler = grpc.unary_unary_rpc_method_handler(call, rpc.request.FromString, rpc.answer.SerializeToString)
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(protocol.NATIVE, {"Call": handler})])
    address = "127.0.0.1:0"
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0)


def test_an_argument_in_the_place_of_a_methods_name_is_told():
    with hearth.Client("localhost:1") as client, pytest.raises(TypeError, match="should be a str, not Tensor"):
        client.call("m", torch.ones(1))


def test_tokens_and_metadata_go_with_each_call():
    tokens = iter(["one", "two"])
    with echoing() as address, hearth.Client(address, token=lambda: next(tokens), metadata=[("X-Tenant", "t")]) as client:
        assert [client.call("m")["authorization"] for _ in range(2)] == ["Bearer one", "Bearer two"]
    with echoing() as address, hearth.Client(address, token="three", metadata=[("X-Tenant", "t")]) as client:
        sent = client.call("m")
        assert (sent["authorization"], sent["x-tenant"]) == ("Bearer three", "t")
        assert sent["user-agent"].startswith("hearth-python")


def test_a_token_leaves_the_machine_only_encrypted():
    with pytest.raises(ValueError, match="needs tls"):
        hearth.Client("models.example:8001", token="secret")
    for address in ("localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/run/hearth.sock"):
        hearth.Client(address, token="secret").close()
    hearth.Client("models.example:8001", token="secret", tls=True).close()


def test_connections_are_encrypted_and_both_ends_known(certificates):
    key, certificate = (certificates / name for name in ("key.pem", "cert.pem"))
    pair = [(key.read_bytes(), certificate.read_bytes())]
    own = hearth.Tls(ca=certificate, server_name="models.test")
    with echoing(grpc.ssl_server_credentials(pair)) as address:
        with hearth.Client(address, tls=own, token="t") as client:
            assert client.call("m")["authorization"] == "Bearer t"
        for stranger in (hearth.Tls(server_name="models.test"), hearth.Tls(ca=certificate), None):
            with hearth.Client(address, tls=stranger) as client, pytest.raises(hearth.Unavailable):
                client.call("m", timeout=10)
    with echoing(grpc.ssl_server_credentials(pair, certificate.read_bytes(), True)) as address:
        known = dataclasses.replace(own, certificate=certificate, key=key.read_bytes())
        with hearth.Client(address, tls=known) as client:
            client.call("m")
        with hearth.Client(address, tls=own) as client, pytest.raises(hearth.Unavailable):
            client.call("m", timeout=10)
    with pytest.raises(ValueError, match="certificate and key together"):
        hearth.Client("localhost:1", tls=hearth.Tls(certificate=certificate))


def test_the_daemon_knows_a_client_by_certificate_and_token(hearthd, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    own = hearth.Tls(ca=authority.certificate, **dict(zip(("certificate", "key"), authority.issue("client"), strict=True)))
    roles = token_line("infer", "caller", "caller-secret") + token_line("read", "reader", "reader-secret")
    (tmp_path / "tokens").write_text(roles)
    server = hearthd(
        {"identity": everyday()["identity"]},
        "--grpc-use-ssl-mutual", "--grpc-server-cert", certificate, "--grpc-server-key", key,
        "--grpc-root-cert", authority.certificate, "--token-file", tmp_path / "tokens",
    )  # fmt: skip
    address = server.address.replace("127.0.0.1", "localhost")
    with hearth.Client(address, tls=own, token="caller-secret") as client:
        assert client.call("identity", args=[torch.ones(2)]).tolist() == [1, 1]
    with hearth.Client(address, tls=own, token="reader-secret") as client, pytest.raises(hearth.PermissionDenied):
        client.call("identity", args=[torch.ones(2)])
    with hearth.Client(address, tls=own) as client, pytest.raises(hearth.Unauthenticated):
        client.call("identity", args=[torch.ones(2)])
    alone = dataclasses.replace(own, certificate=None, key=None)
    with hearth.Client(address, tls=alone, token="caller-secret") as client, pytest.raises(hearth.Unavailable):
        client.call("identity", args=[torch.ones(2)], timeout=10)
