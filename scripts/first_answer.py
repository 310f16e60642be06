#!/usr/bin/env python3
"""Waits until hearthd is ready and shows one real answer, through tritonclient. Used by scripts/serve.

    first_answer.py GRPC_ADDRESS PID [--demo]

With --demo it asks the model `digits` about a handwritten 7; without, it lists the models that are served and what they
take and give. Exits 1 if the daemon (process PID) ends or is not ready within two minutes.
"""
import os
import sys
import time

import numpy
import tritonclient.grpc as client
from tritonclient.utils import InferenceServerException

SEVEN = numpy.array(
    [[0, 0, 7, 8, 13, 16, 15, 1],
     [0, 0, 7, 7, 4, 11, 12, 0],
     [0, 0, 0, 0, 8, 13, 1, 0],
     [0, 4, 8, 8, 15, 15, 6, 0],
     [0, 2, 11, 15, 15, 4, 0, 0],
     [0, 0, 0, 16, 5, 0, 0, 0],
     [0, 0, 9, 15, 1, 0, 0, 0],
     [0, 0, 13, 5, 0, 0, 0, 0]], dtype=numpy.float32)


def wait_until_ready(server, pid):
    for _ in range(600):
        try:
            if server.is_server_ready():
                return
        except InferenceServerException:
            pass
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            sys.exit("error: hearthd ended before it was ready; its last lines are above")
        time.sleep(0.2)
    sys.exit("error: hearthd was not ready within two minutes")


def show_digit(server):
    for row in SEVEN:
        print("   ", "".join(" .:-=+*#%@"[int(grey) * 9 // 16] * 2 for grey in row))
    metadata = server.get_model_metadata("digits")
    question = client.InferInput(metadata.inputs[0].name, [1, 8, 8], "FP32")
    question.set_data_from_numpy(SEVEN[None])
    answer = server.infer("digits", [question])
    scores = answer.as_numpy(metadata.outputs[0].name)[0]
    exponents = numpy.exp(scores - scores.max())
    best = int(scores.argmax())
    print(f"digits answers: this is a {best} ({100 * exponents[best] / exponents.sum():.1f} % sure)")
    if best != 7:
        sys.exit("error: it should be a 7")


def list_models(server):
    for model in server.get_model_repository_index().models:
        print(f"  {model.name} {model.version} {model.state} {model.reason}".rstrip())
        if model.state != "READY":
            continue
        metadata = server.get_model_metadata(model.name, model.version)
        for what, tensors in (("takes", metadata.inputs), ("gives", metadata.outputs)):
            for tensor in tensors:
                known = f": {tensor.datatype} {list(tensor.shape)}" if tensor.datatype else ""
                print(f"    {what} {tensor.name}{known}")


def main():
    address, pid = sys.argv[1], int(sys.argv[2])
    server = client.InferenceServerClient(address)
    wait_until_ready(server, pid)
    if "--demo" in sys.argv[3:]:
        show_digit(server)
    else:
        list_models(server)


if __name__ == "__main__":
    main()
