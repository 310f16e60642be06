"""How the tests of REST ask: tritonclient.http with numpy in, or any request by hand."""

import http.client
import json

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import np_to_triton_dtype


def rest_client(server, **options):
    return triton.InferenceServerClient(f"127.0.0.1:{server.ready['http_port']}", **options)


def tensor(name, array, binary=True, datatype=None):
    array = np.asarray(array)
    made = triton.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    return made.set_data_from_numpy(array, binary_data=binary)


def floats(name, *values, binary=True):
    return tensor(name, np.array(values, dtype=np.float32), binary)


def ask(server, method, path, body=None, headers=(), port="http_port"):
    """(status, headers in lower case, bytes) of one request. A body that is no bytes is sent as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", server.ready[port], timeout=60)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    try:
        connection.request(method, path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def ask_json(server, method, path, body=None):
    """(status, JSON); None where the answer is empty."""
    status, headers, text = ask(server, method, path, body)
    assert headers["content-type"] == "application/json", text
    return status, json.loads(text) if text else None


def refused(server, method, path, body=None, headers=(), status=400):
    """The error's message, which must come with this status."""
    got, answer_headers, text = ask(server, method, path, body, headers)
    assert got == status, text
    assert answer_headers["content-type"] == "application/json"
    answer = json.loads(text)
    assert list(answer) == ["error"]
    return answer["error"]


def one_input(datatype, shape, data, name="x"):
    return {"inputs": [{"name": name, "shape": shape, "datatype": datatype, "data": data}]}
