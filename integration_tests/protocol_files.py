"""Our protocol files, in a descriptor pool of their own: their names are the same as in the clients' packages."""

import subprocess

from google.protobuf import descriptor_pb2, descriptor_pool

from integration_tests import ROOT

# What others define too, and what is ours alone.
PROTOCOL_FILES = [
    "proto/inference/service.proto",
    "proto/inference/model_config.proto",
    "proto/health/health.proto",
    "proto/reflection/reflection.proto",
]
OWN_PROTOCOL_FILES = ["proto/hearth.proto", "proto/status.proto"]
# Messages in the metadata of errors.
ERROR_FILES = ["proto/rpc/status.proto"]


def protocol_pool(folder):
    """The pool; `folder` is for protoc's output."""
    out = folder / "descriptors"
    files = [*PROTOCOL_FILES, *OWN_PROTOCOL_FILES, *ERROR_FILES]
    subprocess.run(
        ["protoc", f"--proto_path={ROOT}", "--include_imports", f"--descriptor_set_out={out}", *files], check=True
    )
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return pool
