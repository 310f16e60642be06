"""What clients can ask, written once for the blocking and the asyncio client: each method makes a request, and hands it to
`_invoke` of the client with the function that reads the answer."""

import json
from typing import Any, Mapping, Optional, Sequence

from hearth import descriptions, protocol, tensors
from hearth.inference import infer_request, read_outputs
from hearth.protocol import INFERENCE, NATIVE
from hearth.values import ValueWriter, read_value

_TENSORS = {"numpy": tensors.numpy_tensor, "torch": tensors.torch_tensor}


class Operations:
    """The methods that Client and AsyncClient share. Those of AsyncClient are awaited.

    `version` names a version of the model; empty, the server chooses. `timeout` is in seconds; None: the client's.
    Every method raises hearth.HearthError, most of them one of its classes.
    """

    # How tensors of answers come: "numpy", "torch", or None: as those that were sent.
    _tensors: Optional[str]

    def model(self, name: str, version: str = "", timeout: Optional[float] = None) -> "Model":
        """A model whose methods are called like those of an object: client.model("tagger").tag(pixels)."""
        return Model(self, name, version, timeout)

    def call(
        self,
        model: str,
        method: str = "forward",
        args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None,
        *,
        version: str = "",
        timeout: Optional[float] = None,
        id: str = "",
        priority: int = 0,
    ):
        """Calls a method with any values (hearth.values says which) and gives what it returns.

        Tensors of the result are numpy's arrays, or torch's tensors if one was among the arguments; `tensors` of the
        client decides otherwise. `id` stands in the server's access log. `priority` is of the levels that the model's
        configuration has, from 1, the first to be run; 0: the model's default.
        """
        request, sent_torch = call_request(model, method, args, kwargs or {}, version, id, priority)
        made_by = _TENSORS[self._tensors or ("torch" if sent_torch else "numpy")]

        def result(answer):
            return read_value(answer.result, answer.payloads, made_by)

        return self._invoke(NATIVE, "Call", request, result, timeout)

    def methods(self, model: str, version: str = "", *, timeout: Optional[float] = None):
        """The methods of a model, as a list of Method."""
        request = _message("hearth.v1.ListMethodsRequest", model=model, version=version)
        return self._invoke(NATIVE, "ListMethods", request, descriptions.methods, timeout)

    def plans(self, model: str, version: str = "", *, graphs: bool = False, timeout: Optional[float] = None):
        """What a model's methods were called with and the plans compiled for that, as the fields of
        hearth.v1.ListPlansResponse in a dict."""
        request = _message("hearth.v1.ListPlansRequest", model=model, version=version, graphs=graphs)
        return self._invoke(NATIVE, "ListPlans", request, protocol.as_dict, timeout)

    def warm(self, model: str, version: str = "", *, timeout: Optional[float] = None):
        """Waits until there is a plan for all that the model was called with so far: {"plans": n, "failed": n}."""
        request = _message("hearth.v1.WarmRequest", model=model, version=version)

        def counts(answer):
            return {"plans": answer.plans, "failed": answer.failed}

        return self._invoke(NATIVE, "Warm", request, counts, timeout)

    def infer(
        self,
        model: str,
        inputs: Mapping[str, Any],
        *,
        version: str = "",
        outputs: Sequence[str] = (),
        parameters: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        id: str = "",
    ):
        """Asks `forward` over the Open Inference Protocol: arrays by the names of inputs, and back by those of outputs.

        An input is an array, a torch.Tensor, or what numpy makes an array of; strings are elements of BYTES. `outputs`
        names those that are wanted; none: all.
        """
        request = infer_request(model, inputs, version, outputs, parameters, id)
        return self._invoke(INFERENCE, "ModelInfer", request, read_outputs, timeout)

    def is_live(self, *, timeout: Optional[float] = None):
        """Whether the server says that it is up."""
        return self._ask("ServerLive", {}, lambda answer: answer.live, timeout)

    def is_ready(self, *, timeout: Optional[float] = None):
        """Whether the server takes requests: its models have been loaded, and it is not shutting down."""
        return self._ask("ServerReady", {}, lambda answer: answer.ready, timeout)

    def is_model_ready(self, model: str, version: str = "", *, timeout: Optional[float] = None):
        """Whether the model takes requests."""
        return self._ask("ModelReady", {"name": model, "version": version}, lambda answer: answer.ready, timeout)

    def server_metadata(self, *, timeout: Optional[float] = None):
        """The server's name, version and extensions, as a ServerMetadata."""
        return self._ask("ServerMetadata", {}, descriptions.server_metadata, timeout)

    def metadata(self, model: str, version: str = "", *, timeout: Optional[float] = None):
        """The named tensors that a model takes and gives, as a ModelMetadata."""
        fields = {"name": model, "version": version}
        return self._ask("ModelMetadata", fields, descriptions.model_metadata, timeout)

    def config(self, model: str, version: str = "", *, timeout: Optional[float] = None):
        """A model's configuration, as the fields of inference.ModelConfig in a dict."""
        fields = {"name": model, "version": version}
        return self._ask("ModelConfig", fields, lambda answer: protocol.as_dict(answer.config), timeout)

    def statistics(self, model: str = "", version: str = "", *, timeout: Optional[float] = None):
        """Counts and times of one model's requests, or of all models': a list of the fields of
        inference.ModelStatistics in dicts. What is nought is left out."""
        fields = {"name": model, "version": version}
        return self._ask("ModelStatistics", fields, lambda answer: [protocol.as_dict(m) for m in answer.model_stats], timeout)

    def index(self, *, ready: bool = False, timeout: Optional[float] = None):
        """The models of the repository, or those alone that are ready, as a list of ModelState."""
        return self._ask("RepositoryIndex", {"ready": ready}, descriptions.model_states, timeout)

    def load(self, model: str, *, config: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None):
        """Loads a model, or loads it again from disk, and returns when it serves. `config` takes the place of the fields
        of its config.pbtxt."""
        request = _message("inference.RepositoryModelLoadRequest", model_name=model)
        if config is not None:
            request.parameters["config"].string_param = json.dumps(config)
        return self._invoke(INFERENCE, "RepositoryModelLoad", request, lambda answer: None, timeout)

    def rollback(self, model: str, version: Optional[int] = None, *, timeout: Optional[float] = None):
        """Has a model serve again what it served before, or the version given, if the server still has it. It is there at
        once, and stays until the model is loaded again."""
        request = _message("inference.RepositoryModelLoadRequest", model_name=model)
        if version is None:
            request.parameters["rollback"].bool_param = True
        else:
            request.parameters["rollback"].int64_param = version
        return self._invoke(INFERENCE, "RepositoryModelLoad", request, lambda answer: None, timeout)

    def unload(self, model: str, *, timeout: Optional[float] = None):
        """Takes a model out of service. Requests that have begun are answered."""
        return self._ask("RepositoryModelUnload", {"model_name": model}, lambda answer: None, timeout)

    def _ask(self, name, fields, read, timeout):
        return self._invoke(INFERENCE, name, protocol.rpc(INFERENCE, name).request(**fields), read, timeout)

    def _invoke(self, service, name, request, read, timeout):
        raise NotImplementedError


class Model:
    """A model of a client. Calling it calls `forward`; any other method is an attribute:

        tagger = client.model("tagger", version="2", timeout=5)
        tagger(pixels)
        tagger.tag(pixels, labels=["cat"])

    All arguments are the model's own. `method(name)` is for methods whose names start with an underscore or are `method`.
    """

    def __init__(self, client: Operations, name: str, version: str = "", timeout: Optional[float] = None):
        self._client = client
        self._name = name
        self._version = version
        self._timeout = timeout

    def __call__(self, *args, **kwargs):
        return self._call("forward", args, kwargs)

    def method(self, name: str):
        """The method as a function."""
        return lambda *args, **kwargs: self._call(name, args, kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.method(name)

    def __repr__(self):
        return f"<hearth model {self._name!r}{f' version {self._version}' if self._version else ''}>"

    def _call(self, method, args, kwargs):
        return self._client.call(self._name, method, args, kwargs, version=self._version, timeout=self._timeout)


def call_request(model, method, args, kwargs, version="", id="", priority=0):
    """A CallRequest, and whether a torch.Tensor is among its values."""
    if not isinstance(method, str):
        raise TypeError(f"a method's name should be a str, not {type(method).__name__}; arguments go in args and kwargs")
    request = _message(
        "hearth.v1.CallRequest", model=model, version=version, method=method, id=id, priority=priority
    )
    writer = ValueWriter(request.payloads)
    for index, value in enumerate(args):
        writer.write(value, request.args.add(), f"argument {index + 1}")
    for name, value in kwargs.items():
        writer.write(value, request.kwargs[name], f"argument '{name}'")
    return request, writer.has_torch_tensor


def _message(name, **fields):
    return protocol.message(name)(**fields)
