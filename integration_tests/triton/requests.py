"""The requests that are asked of both: over HTTP, and over gRPC as messages of Triton's protocol."""

import dataclasses
import json
import struct

from tritonclient.grpc import service_pb2 as messages


@dataclasses.dataclass
class Request:
    """Over HTTP. A body that is no bytes is sent as JSON."""

    name: str
    method: str
    path: str
    body: object = None
    headers: dict = dataclasses.field(default_factory=dict)

    def bytes(self):
        return self.body if self.body is None or isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclasses.dataclass
class Call:
    """Over gRPC."""

    name: str
    method: str
    message: object


def field(name, datatype, shape, data, **rest):
    return {"name": name, "datatype": datatype, "shape": shape, "data": data, **rest}


X = field("x", "FP32", [3], [1, 2, 3])
A = field("a", "FP32", [1, 2], [1, 2])
B = field("b", "FP32", [1, 2], [3, 5])
FLAGS = field("flags", "BOOL", [3], [True, False, True])
COUNTS = field("counts", "INT64", [2, 2], [1, -2, 3, 9007199254740993])
POINTS = field("points", "FP64", [1, 2], [0.1, 1e300])


def infer(name, model, body, version=None, headers=None):
    path = f"/v2/models/{model}" + (f"/versions/{version}" if version else "") + "/infer"
    return Request(name, "POST", path, body, headers or {})


def with_contents(header, *contents):
    text = json.dumps(header).encode()
    return text + b"".join(contents), {"Inference-Header-Content-Length": str(len(text))}


def binary(name, model, header, *contents):
    body, headers = with_contents(header, *contents)
    return infer(name, model, body, headers=headers)


def binary_field(name, datatype, shape, size):
    return {"name": name, "datatype": datatype, "shape": shape, "parameters": {"binary_data_size": size}}


ONE_TWO_THREE = struct.pack("<3f", 1, 2, 3)

LOOK_UPS = [
    Request("live", "GET", "/v2/health/live"),
    Request("ready", "GET", "/v2/health/ready"),
    Request("server metadata", "GET", "/v2"),
    Request("server metadata, posted", "POST", "/v2"),
    Request("model metadata", "GET", "/v2/models/both"),
    Request("model metadata of versions", "GET", "/v2/models/twice"),
    Request("model metadata of one version", "GET", "/v2/models/twice/versions/1"),
    Request("model metadata of a version that is not there", "GET", "/v2/models/twice/versions/7"),
    Request("model metadata of a version that is no number", "GET", "/v2/models/twice/versions/latest"),
    Request("model metadata of a model that is not there", "GET", "/v2/models/nobody"),
    Request("model metadata of strings", "GET", "/v2/models/words"),
    Request("model ready", "GET", "/v2/models/both/ready"),
    Request("model ready, one version", "GET", "/v2/models/twice/versions/2/ready"),
    Request("model ready, a version that is not there", "GET", "/v2/models/twice/versions/3/ready"),
    Request("model ready, a model that is not there", "GET", "/v2/models/nobody/ready"),
    Request("configuration", "GET", "/v2/models/both/config"),
    Request("configuration of a model that is not there", "GET", "/v2/models/nobody/config"),
    Request("statistics of a model that is not there", "GET", "/v2/models/nobody/stats"),
    Request("index", "POST", "/v2/repository/index"),
    Request("index of what is ready", "POST", "/v2/repository/index", {"ready": True}),
    Request("index, asked with GET", "GET", "/v2/repository/index"),
    Request("load without the mode for it", "POST", "/v2/repository/models/twice/load"),
    Request("unload without the mode for it", "POST", "/v2/repository/models/twice/unload"),
    Request("a path that is none", "GET", "/v2/nothing"),
    Request("a path of a model that is none", "GET", "/v2/models/both/nothing"),
    Request("a path of another version of the protocol", "GET", "/v1/models/both"),
    Request("shared memory", "GET", "/v2/systemsharedmemory/status"),
    Request("CUDA's shared memory", "GET", "/v2/cudasharedmemory/status"),
    Request("a region of shared memory that is not there", "GET", "/v2/systemsharedmemory/region/none/status"),
    Request("a region that is unregistered and was not there", "POST",
            "/v2/systemsharedmemory/region/none/unregister"),
    Request("all regions are unregistered", "POST", "/v2/systemsharedmemory/unregister"),
    Request("a region without a key", "POST", "/v2/systemsharedmemory/region/r/register", {"byte_size": 4}),
    Request("a region of a key that is not there", "POST", "/v2/systemsharedmemory/region/r/register",
            {"key": "/not-there", "byte_size": 4, "offset": 0}),
]

INFERENCES = [
    infer("infer", "twice", {"inputs": [X]}),
    infer("infer with an id", "twice", {"id": "number 1", "inputs": [X]}),
    infer("infer with an empty id", "twice", {"id": "", "inputs": [X]}),
    infer("infer with an id that is a number", "twice", {"id": 5, "inputs": [X]}),
    infer("infer of a version", "twice", {"inputs": [X]}, version=1),
    infer("infer of a version that is not there", "twice", {"inputs": [X]}, version=7),
    infer("infer of a model that is not there", "nobody", {"inputs": [X]}),
    infer("infer of nothing at all", "twice", None),
    infer("infer of an empty object", "twice", {}),
    infer("infer of no inputs", "twice", {"inputs": []}),
    infer("infer of what is no JSON", "twice", b"{inputs"),
    infer("infer of an array", "twice", [1]),
    infer("infer of inputs that are no array", "twice", {"inputs": {"x": 1}}),
    infer("infer of an input without a name", "twice", {"inputs": [{k: v for k, v in X.items() if k != "name"}]}),
    infer("infer of an input without a shape", "twice", {"inputs": [{k: v for k, v in X.items() if k != "shape"}]}),
    infer("infer of an input without a datatype", "twice",
          {"inputs": [{k: v for k, v in X.items() if k != "datatype"}]}),
    infer("infer of an input without data", "twice", {"inputs": [{k: v for k, v in X.items() if k != "data"}]}),
    infer("infer of another input", "twice", {"inputs": [{**X, "name": "other"}]}),
    infer("infer of an input too many", "twice", {"inputs": [X, {**X, "name": "other"}]}),
    infer("infer of an input twice", "twice", {"inputs": [X, X]}),
    infer("infer of another datatype", "twice", {"inputs": [field("x", "INT32", [3], [1, 2, 3])]}),
    infer("infer of a datatype that is none", "twice", {"inputs": [field("x", "FLOAT", [3], [1, 2, 3])]}),
    infer("infer of too few numbers", "twice", {"inputs": [field("x", "FP32", [3], [1, 2])]}),
    infer("infer of too many numbers", "twice", {"inputs": [field("x", "FP32", [3], [1, 2, 3, 4])]}),
    infer("infer of strings for numbers", "twice", {"inputs": [field("x", "FP32", [1], ["one"])]}),
    infer("infer of nested numbers", "twice", {"inputs": [field("x", "FP32", [3], [[1], [2], [3]])]}),
    infer("infer of no numbers", "twice", {"inputs": [field("x", "FP32", [0], [])]}),
    infer("infer of a negative size", "twice", {"inputs": [field("x", "FP32", [-1], [1])]}),
    infer("infer of another rank", "twice", {"inputs": [field("x", "FP32", [1, 3], [1, 2, 3])]}),
    infer("infer of a size that is a string", "twice", {"inputs": [field("x", "FP32", ["3"], [1, 2, 3])]}),
    infer("infer of a size that is a fraction", "twice", {"inputs": [field("x", "FP32", [3.5], [1, 2, 3])]}),
    infer("infer with a field that is none", "twice", {"inputs": [X], "more": 1}),
    infer("infer of an output", "both", {"inputs": [A, B], "outputs": [{"name": "difference"}]}),
    infer("infer of an output that is not there", "both", {"inputs": [A, B], "outputs": [{"name": "product"}]}),
    infer("infer of an output without a name", "both", {"inputs": [A, B], "outputs": [{}]}),
    infer("infer of an output twice", "both", {"inputs": [A, B], "outputs": [{"name": "sum"}, {"name": "sum"}]}),
    infer("infer of all outputs", "both", {"inputs": [A, B]}),
    infer("infer of a batch", "both", {"inputs": [field("a", "FP32", [2, 2], [1, 2, 3, 4]),
                                                 field("b", "FP32", [2, 2], [5, 6, 7, 8])]}),
    infer("infer of a batch that is too large", "both", {"inputs": [field("a", "FP32", [5, 2], [0] * 10),
                                                                   field("b", "FP32", [5, 2], [0] * 10)]}),
    infer("infer of batches that differ", "both", {"inputs": [A, field("b", "FP32", [2, 2], [5, 6, 7, 8])]}),
    infer("infer of no batch", "both", {"inputs": [field("a", "FP32", [2], [1, 2]), field("b", "FP32", [2], [1, 2])]}),
    infer("infer of another size", "both", {"inputs": [field("a", "FP32", [1, 3], [1, 2, 3]), B]}),
    infer("infer without an input", "both", {"inputs": [A]}),
    infer("infer of kinds", "kinds", {"inputs": [FLAGS, COUNTS, POINTS]}),
    infer("infer of numbers as booleans", "kinds", {"inputs": [{**FLAGS, "data": [1, 0, 2]}, COUNTS, POINTS]}),
    infer("infer of a fraction as an integer", "kinds",
          {"inputs": [FLAGS, {**COUNTS, "data": [1, 2, 3, 4.5]}, POINTS]}),
    infer("infer of another fixed size", "kinds", {"inputs": [{**FLAGS, "shape": [2], "data": [True, False]}, COUNTS,
                                                             POINTS]}),
    infer("infer of strings", "words", {"inputs": [field("words", "BYTES", [2], ["one", "zwölf"])]}),
    infer("infer of numbers for strings", "words", {"inputs": [field("words", "BYTES", [1], [1])]}),
    infer("infer that fails", "fails", {"inputs": [X]}),
    infer("infer of binary outputs", "twice", {"inputs": [X], "parameters": {"binary_data_output": True}}),
    infer("infer of a binary output", "twice", {"inputs": [X], "outputs": [{"name": "y", "parameters":
                                                                           {"binary_data": True}}]}),
    infer("infer of one binary output of two", "both", {"inputs": [A, B], "outputs": [
        {"name": "sum", "parameters": {"binary_data": True}}, {"name": "difference"}]}),
    binary("infer of binary inputs", "twice", {"inputs": [binary_field("x", "FP32", [3], 12)]}, ONE_TWO_THREE),
    binary("infer of too few bytes", "twice", {"inputs": [binary_field("x", "FP32", [3], 8)]}, ONE_TWO_THREE[:8]),
    binary("infer of fewer bytes than are told", "twice", {"inputs": [binary_field("x", "FP32", [3], 12)]},
           ONE_TWO_THREE[:8]),
    binary("infer of more bytes than are told", "twice", {"inputs": [binary_field("x", "FP32", [3], 12)]},
           ONE_TWO_THREE + b"more"),
    binary("infer of binary strings", "words", {"inputs": [binary_field("words", "BYTES", [2], 13)]},
           b"\3\0\0\0one\2\0\0\0ab"),
    binary("infer of binary strings that are cut off", "words", {"inputs": [binary_field("words", "BYTES", [1], 6)]},
           b"\3\0\0\0on"),
    infer("infer of a header that is longer than the body", "twice", {"inputs": [X]},
          headers={"Inference-Header-Content-Length": "100000"}),
    infer("infer of a header that is no number", "twice", {"inputs": [X]},
          headers={"Inference-Header-Content-Length": "many"}),
    infer("infer of classes", "scores", {"inputs": [field("x", "FP32", [4], [0.25, 4, 1, 2])],
                                         "outputs": [{"name": "scores", "parameters": {"classification": 2}}]}),
    infer("infer of more classes than there are", "scores",
          {"inputs": [field("x", "FP32", [4], [0.25, 4, 1, 2])],
           "outputs": [{"name": "scores", "parameters": {"classification": 9}}]}),
    infer("infer of classes without labels", "twice", {"inputs": [X], "outputs": [
        {"name": "y", "parameters": {"classification": 1}}]}),
    infer("infer of classes that are no number", "scores", {"inputs": [field("x", "FP32", [4], [0.25, 4, 1, 2])],
                                                            "outputs": [{"name": "scores", "parameters":
                                                                         {"classification": "two"}}]}),
    infer("infer with a priority", "twice", {"inputs": [X], "parameters": {"priority": 1}}),
    infer("infer with a timeout", "twice", {"inputs": [X], "parameters": {"timeout": 60000000}}),
    infer("infer with parameters of one's own", "twice", {"inputs": [X], "parameters": {"mine": "yes"}}),
    infer("infer with a parameter of Triton's", "twice", {"inputs": [X], "parameters": {"triton_mine": "yes"}}),
    infer("infer of a region that is not there", "twice", {"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [3],
         "parameters": {"shared_memory_region": "none", "shared_memory_byte_size": 12}}]}),
]


def in_sequence(name, parameters, number=1, shape=(1, 1)):
    inputs = [field("x", "FP32", list(shape), [number] * shape[0])]
    return infer(name, "controls", {"inputs": inputs, "parameters": parameters})


# The order matters.
SEQUENCES = [
    in_sequence("sequence of no id", {}),
    in_sequence("sequence that was not started", {"sequence_id": 7}),
    in_sequence("sequence that starts", {"sequence_id": 7, "sequence_start": True}),
    in_sequence("sequence that goes on", {"sequence_id": 7}, 2),
    in_sequence("sequence of a batch", {"sequence_id": 7}, 2, shape=(2, 1)),
    in_sequence("sequence that starts again", {"sequence_id": 7, "sequence_start": True}, 3),
    in_sequence("sequence that ends", {"sequence_id": 7, "sequence_end": True}, 4),
    in_sequence("sequence that has ended", {"sequence_id": 7}, 5),
    in_sequence("sequence of one request", {"sequence_id": 8, "sequence_start": True, "sequence_end": True}),
    in_sequence("sequence of a flag that is none", {"sequence_id": 8, "sequence_start": "yes"}),
    in_sequence("sequence of id 0", {"sequence_id": 0, "sequence_start": True}),
    in_sequence("sequence of a negative id", {"sequence_id": -1, "sequence_start": True}),
]
OTHER_MODELS = [
    Request("model metadata of what is reshaped", "GET", "/v2/models/reshaped"),
    Request("model metadata of a sequence", "GET", "/v2/models/controls"),
    Request("model metadata of an ensemble", "GET", "/v2/models/chain"),
    infer("infer of what is reshaped", "reshaped", {"inputs": [field("x", "INT32", [1, 2, 3], [1, 2, 3, 4, 5, 6])]}),
    infer("infer of what the model has and its client has not", "reshaped",
          {"inputs": [field("x", "INT32", [1, 6], [1, 2, 3, 4, 5, 6])]}),
    infer("infer of a number that is too large", "reshaped",
          {"inputs": [field("x", "INT32", [1, 2, 3], [1, 2, 3, 4, 5, 1 << 31])]}),
    infer("infer of all inputs", "sums", {"inputs": [field("a", "FP32", [2], [1, 2]), field("b", "FP32", [2], [1, 2])]}),
    infer("infer without an optional input", "sums", {"inputs": [field("a", "FP32", [2], [1, 2])]}),
    infer("infer of an optional input alone", "sums", {"inputs": [field("b", "FP32", [2], [1, 2])]}),
    infer("infer of bytes", "bytes", {"inputs": [field("x", "UINT8", [2, 1], [255, 0])]}),
    infer("infer of a byte that is too large", "bytes", {"inputs": [field("x", "UINT8", [1, 1], [256])]}),
    infer("infer of a negative byte", "bytes", {"inputs": [field("x", "UINT8", [1, 1], [-1])]}),
    infer("infer of nothing in two dimensions", "bytes", {"inputs": [field("x", "UINT8", [0, 3], [])]}),
    infer("infer of half precision as JSON", "halves", {"inputs": [field("x", "FP16", [1, 1], [1.5])]}),
    binary("infer of half precision", "halves", {"inputs": [binary_field("x", "FP16", [1, 2], 4)],
                                                 "parameters": {"binary_data_output": True}}, b"\0\x3c\0\x40"),
    binary("infer of half precision whose answer is asked for as JSON", "halves",
           {"inputs": [binary_field("x", "FP16", [1, 2], 4)],
            "outputs": [{"name": "y", "parameters": {"binary_data": False}}]}, b"\0\x3c\0\x40"),
    infer("infer of an ensemble", "chain", {"inputs": [field("in", "FP32", [2], [1, 2])]}),
    infer("infer of an ensemble, of another datatype", "chain", {"inputs": [field("in", "FP64", [2], [1, 2])]}),
    infer("infer of an ensemble's steps' tensor", "chain", {"inputs": [field("x", "FP32", [2], [1, 2])]}),
]


# One after the other, of a server that is told what to load and unload.
LIFE = [
    Request("index before all", "POST", "/v2/repository/index"),
    infer("infer before it is loaded", "twice", {"inputs": [X]}),
    Request("ready before it is loaded", "GET", "/v2/models/twice/ready"),
    Request("load", "POST", "/v2/repository/models/twice/load"),
    Request("load again", "POST", "/v2/repository/models/twice/load", {}),
    Request("ready", "GET", "/v2/models/twice/ready"),
    infer("infer", "twice", {"inputs": [X]}),
    Request("load of a model that is not there", "POST", "/v2/repository/models/nobody/load"),
    Request("load with a configuration that is no JSON", "POST", "/v2/repository/models/twice/load",
            {"parameters": {"config": "{"}}),
    infer("infer after a load that failed", "twice", {"inputs": [X]}),
    Request("load with a parameter that is none", "POST", "/v2/repository/models/twice/load",
            {"parameters": {"mine": "yes"}}),
    Request("load of what is no JSON", "POST", "/v2/repository/models/twice/load", b"{"),
    Request("load with GET", "GET", "/v2/repository/models/twice/load"),
    Request("index of what is ready", "POST", "/v2/repository/index", {"ready": True}),
    Request("unload of a model that is not there", "POST", "/v2/repository/models/nobody/unload"),
    Request("unload of a model that is not loaded", "POST", "/v2/repository/models/both/unload"),
    Request("unload", "POST", "/v2/repository/models/twice/unload"),
    infer("infer after it was unloaded", "twice", {"inputs": [X]}),
    Request("metadata after it was unloaded", "GET", "/v2/models/twice"),
    Request("ready after it was unloaded", "GET", "/v2/models/twice/ready"),
]


def call(named, method, **fields):
    return Call(named, method, getattr(messages, f"{method}Request")(**fields))


def infer_call(name, model, inputs, raw=(), outputs=(), **fields):
    message = messages.ModelInferRequest(model_name=model, raw_input_contents=raw, **fields)
    for key, datatype, shape in inputs:
        message.inputs.add(name=key, datatype=datatype, shape=shape)
    for key in outputs:
        message.outputs.add(name=key)
    return Call(name, "ModelInfer", message)


def with_numbers(name, *numbers, shape=(3,), datatype="FP32", contents="fp32_contents"):
    made = infer_call(name, "twice", [("x", datatype, shape)])
    getattr(made.message.inputs[0].contents, contents).extend(numbers)
    return made


def version_asked(request):
    """MODEL/VERSION of a request for an inference."""
    if isinstance(request, Call):
        model, version = request.message.model_name, request.message.model_version
    else:
        _, _, _, model, *rest = request.path.split("/")
        version = rest[1] if len(rest) == 3 else ""
    return f"{model}/{version or (2 if model == 'twice' else 1)}"


# Of each, the messages of one stream.
STREAMS = {
    "a request": [infer_call("", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE], id="1")],
    "two requests": [
        infer_call("", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE], id="1", model_version="1"),
        infer_call("", "twice", [("x", "FP32", [1])], [ONE_TWO_THREE[:4]], id="2", model_version="2"),
    ],
    "a request that is refused": [infer_call("", "twice", [("x", "INT32", [3])], [ONE_TWO_THREE], id="1")],
    "a request of a model that is not there": [infer_call("", "nobody", [("x", "FP32", [3])], [ONE_TWO_THREE])],
    "a request that fails": [infer_call("", "fails", [("x", "FP32", [3])], [ONE_TWO_THREE], id="1")],
    "a request after one that is refused": [
        infer_call("", "twice", [("x", "INT32", [3])], [ONE_TWO_THREE], id="1"),
        infer_call("", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE], id="2"),
    ],
    "no request": [],
}
CALLS = [
    call("live", "ServerLive"),
    call("ready", "ServerReady"),
    call("server metadata", "ServerMetadata"),
    call("model ready", "ModelReady", name="both"),
    call("model ready, a version that is not there", "ModelReady", name="twice", version="7"),
    call("model ready, a version that is no number", "ModelReady", name="twice", version="latest"),
    call("model ready, a model that is not there", "ModelReady", name="nobody"),
    call("model metadata", "ModelMetadata", name="both"),
    call("model metadata of versions", "ModelMetadata", name="twice"),
    call("model metadata of a version that is not there", "ModelMetadata", name="twice", version="7"),
    call("model metadata of a version that is no number", "ModelMetadata", name="twice", version="latest"),
    call("model metadata of a model that is not there", "ModelMetadata", name="nobody"),
    call("configuration of a model that is not there", "ModelConfig", name="nobody"),
    call("statistics of a model that is not there", "ModelStatistics", name="nobody"),
    call("statistics of a version that is not there", "ModelStatistics", name="twice", version="7"),
    call("index", "RepositoryIndex"),
    call("index of what is ready", "RepositoryIndex", ready=True),
    call("load without the mode for it", "RepositoryModelLoad", model_name="twice"),
    call("unload without the mode for it", "RepositoryModelUnload", model_name="twice"),
    call("shared memory", "SystemSharedMemoryStatus"),
    call("a region that is not there", "SystemSharedMemoryStatus", name="none"),
    call("a region that is unregistered and was not there", "SystemSharedMemoryUnregister", name="none"),
    call("a region of a key that is not there", "SystemSharedMemoryRegister", name="r", key="/not-there", byte_size=4),
    call("log settings", "LogSettings"),
    call("trace settings of a model that is not there", "TraceSetting", model_name="nobody"),
    infer_call("infer", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE]),
    infer_call("infer with an id", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE], id="number 1"),
    infer_call("infer of a version", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE], model_version="1"),
    infer_call("infer of a version that is not there", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE],
               model_version="7"),
    infer_call("infer of a version that is no number", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE],
               model_version="latest"),
    infer_call("infer of a model that is not there", "nobody", [("x", "FP32", [3])], [ONE_TWO_THREE]),
    infer_call("infer of no model", "", [("x", "FP32", [3])], [ONE_TWO_THREE]),
    infer_call("infer of no inputs", "twice", []),
    infer_call("infer of another input", "twice", [("other", "FP32", [3])], [ONE_TWO_THREE]),
    infer_call("infer of an input too many", "twice", [("x", "FP32", [3]), ("other", "FP32", [3])],
               [ONE_TWO_THREE, ONE_TWO_THREE]),
    infer_call("infer of an input twice", "twice", [("x", "FP32", [3]), ("x", "FP32", [3])],
               [ONE_TWO_THREE, ONE_TWO_THREE]),
    infer_call("infer of an input without contents", "twice", [("x", "FP32", [3])]),
    infer_call("infer of more contents than inputs", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE, ONE_TWO_THREE]),
    infer_call("infer of too few bytes", "twice", [("x", "FP32", [3])], [ONE_TWO_THREE[:8]]),
    infer_call("infer of too many bytes", "twice", [("x", "FP32", [2])], [ONE_TWO_THREE]),
    infer_call("infer of another datatype", "twice", [("x", "INT32", [3])], [ONE_TWO_THREE]),
    infer_call("infer of a datatype that is none", "twice", [("x", "FLOAT", [3])], [ONE_TWO_THREE]),
    infer_call("infer of a negative size", "twice", [("x", "FP32", [-1])], [ONE_TWO_THREE]),
    infer_call("infer of another rank", "twice", [("x", "FP32", [1, 3])], [ONE_TWO_THREE]),
    infer_call("infer of no numbers", "twice", [("x", "FP32", [0])], [b""]),
    with_numbers("infer of typed contents", 1, 2, 3),
    with_numbers("infer of too few numbers", 1, 2),
    with_numbers("infer of numbers of another kind", 1, 2, 3, contents="int_contents"),
    with_numbers("infer of typed contents of half precision", 1, 2, 3, datatype="FP16"),
    infer_call("infer of an output", "both", [("a", "FP32", [1, 2]), ("b", "FP32", [1, 2])],
               [ONE_TWO_THREE[:8], ONE_TWO_THREE[4:]], ["difference"]),
    infer_call("infer of an output that is not there", "both", [("a", "FP32", [1, 2]), ("b", "FP32", [1, 2])],
               [ONE_TWO_THREE[:8], ONE_TWO_THREE[4:]], ["product"]),
    infer_call("infer of a batch that is too large", "both", [("a", "FP32", [5, 2]), ("b", "FP32", [5, 2])],
               [bytes(40), bytes(40)]),
    infer_call("infer of batches that differ", "both", [("a", "FP32", [1, 2]), ("b", "FP32", [2, 2])],
               [bytes(8), bytes(16)]),
    infer_call("infer without an input", "both", [("a", "FP32", [1, 2])], [bytes(8)]),
    infer_call("infer that fails", "fails", [("x", "FP32", [3])], [ONE_TWO_THREE]),
    infer_call("infer of strings", "words", [("words", "BYTES", [2])], [b"\3\0\0\0one\2\0\0\0ab"]),
    infer_call("infer of strings that are cut off", "words", [("words", "BYTES", [1])], [b"\3\0\0\0on"]),
]
