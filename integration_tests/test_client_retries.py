"""What a gRPC client's own retries hide when a server ends (docs/operations.md)."""

import json
import threading

import grpc

from integration_tests.daemon import Hearthd

POLICY = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 5,
                "initialBackoff": "0.01s",
                "maxBackoff": "0.1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
            },
        }
    ],
}


def test_a_client_that_retries_cancelled_calls_does_not_see_that_one_of_two_servers_ends(tmp_path):
    clients, codes, stopping = 8, [], threading.Event()
    begun = threading.Semaphore(0)

    def ask(address, number):
        options = [("grpc.service_config", json.dumps(POLICY)), ("test.connection", number)]
        with grpc.insecure_channel(address, options=options) as channel:
            call = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
            while not stopping.is_set():
                try:
                    call(b"", timeout=60)
                    code = grpc.StatusCode.OK
                except grpc.RpcError as error:
                    code = error.code()
                codes.append(code)
                begun.release()

    staying = Hearthd(tmp_path)
    try:
        for _ in range(5):
            ending = Hearthd(tmp_path)
            stopping.clear()
            address = f"ipv4:{ending.address},{staying.address}"
            threads = [threading.Thread(target=ask, args=(address, number)) for number in range(clients)]
            for thread in threads:
                thread.start()
            try:
                for _ in range(50 * clients):
                    assert begun.acquire(timeout=60)
                assert ending.stop() == 0
            finally:
                stopping.set()
                for thread in threads:
                    thread.join()
            assert set(codes) == {grpc.StatusCode.OK}
    finally:
        staying.stop()
