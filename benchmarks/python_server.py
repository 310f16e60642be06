"""A server as one writes it in Python around torch: aiohttp, REST with binary tensors, models on threads of their own.

    python3 -m benchmarks.python_server ENGINE FOLDER MODEL... [--device cuda]

ENGINE is torch.compile (reduce-overhead, on one thread, as its CUDA graphs are of one) or torch.jit (frozen, on four
threads, each with a stream). Prints a line of JSON with the port when all models are warm."""

import argparse
import asyncio
import concurrent.futures
import json
import pathlib
import threading
import warnings

import numpy as np
import torch
from aiohttp import web

from benchmarks.model_list import DTYPES, make
from benchmarks.rest_clients import DATATYPES
from integration_tests.values import leaves, to

THREADS = {"torch.compile": 1, "torch.jit": 4}
WARM_UP_CALLS = 5
TORCH_DTYPES = {wire: getattr(torch, name) for name, wire in DATATYPES.items()}


class Models:
    def __init__(self, options):
        self.device = options.device
        self.threads = concurrent.futures.ThreadPoolExecutor(THREADS[options.engine])
        self._streams = threading.local()
        self.models = {}
        for name in options.models:
            folder = options.folder / name
            if options.engine == "torch.compile":
                mode = "reduce-overhead" if self.device != "cpu" else "default"
                model = torch.compile(make(name, 1, self.device, DTYPES[options.dtype]).module, mode=mode)
            else:
                model = torch.jit.freeze(torch.jit.load(folder / "1" / "model.pt", map_location=self.device).eval())
            self.models[name] = model
            inputs = torch.load(folder / "inputs.pt", weights_only=True)
            count = WARM_UP_CALLS * THREADS[options.engine]
            for call in [self.threads.submit(self.run, name, inputs) for _ in range(count)]:
                call.result()

    def run(self, name, inputs):
        """The answer's tensors, on the CPU."""
        with torch.inference_mode(), self._stream():
            answer = self.models[name](*to(self.device, inputs))
            return [tensor.cpu() for _, tensor in leaves(answer)]

    def _stream(self):
        if self.device == "cpu":
            return torch.inference_mode()
        if not hasattr(self._streams, "own"):
            self._streams.own = torch.cuda.Stream()
        return torch.cuda.stream(self._streams.own)


def read(header_length, body):
    tensors, at = [], header_length
    for each in json.loads(body[:header_length])["inputs"]:
        dtype, size = TORCH_DTYPES[each["datatype"]], each["parameters"]["binary_data_size"]
        flat = torch.frombuffer(body, dtype=dtype, count=size // dtype.itemsize, offset=at)
        tensors.append(flat.reshape(each["shape"]))
        at += size
    return tuple(tensors)


def written(name, tensors):
    arrays = [np.ascontiguousarray(tensor.numpy()) for tensor in tensors]
    outputs = [{"name": f"OUTPUT__{index}", "datatype": DATATYPES[str(array.dtype)], "shape": list(array.shape),
                "parameters": {"binary_data_size": array.nbytes}} for index, array in enumerate(arrays)]
    header = json.dumps({"model_name": name, "outputs": outputs}).encode()
    return web.Response(body=b"".join([header, *(array.tobytes() for array in arrays)]),
                        headers={"Inference-Header-Content-Length": str(len(header))})


async def serve(models):
    async def infer(request):
        name = request.match_info["name"]
        body = await request.read()
        inputs = read(int(request.headers["Inference-Header-Content-Length"]), body)
        loop = asyncio.get_running_loop()
        return written(name, await loop.run_in_executor(models.threads, models.run, name, inputs))

    application = web.Application(client_max_size=1 << 30)
    application.router.add_post("/v2/models/{name}/infer", infer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(json.dumps({"http_port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


def started_models(description):
    """What a server's command line names, warm."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=THREADS)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", choices=DTYPES, default="float16")
    warnings.filterwarnings("ignore", message="The given buffer is not writable")
    return Models(parser.parse_args())


def main():
    asyncio.run(serve(started_models(__doc__)))


if __name__ == "__main__":
    main()
