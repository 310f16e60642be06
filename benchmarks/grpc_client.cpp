// Measures one server with ModelInfer requests of one FP32 tensor, one call at a time from each of a number of clients:
//   grpc_client ADDRESS MODEL BYTES CLIENTS SECONDS
// prints {"requests": N, "per_second": R, "p50_us": ..., "p99_us": ...}. Each client has a channel of its own, keeps
// its messages between calls and checks that the answer is the request's bytes.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "proto/inference/service.grpc.pb.h"

namespace {

using Clock = std::chrono::steady_clock;

inference::ModelInferRequest MakeRequest(const std::string& model, size_t bytes) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto* input = request.add_inputs();
  input->set_name("INPUT__0");
  input->set_datatype("FP32");
  input->add_shape(static_cast<int64_t>(bytes / 4));
  request.add_raw_input_contents(std::string(bytes, '\x3c'));
  return request;
}

// Latencies in microseconds of calls made until `stop`.
std::vector<double> RunClient(const std::string& address, const inference::ModelInferRequest& request, int index,
                              const std::atomic<bool>& measuring, const std::atomic<bool>& stop,
                              std::atomic<bool>* failed) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt("hearth.benchmark.client", index);  // a connection of its own
  auto stub = inference::GRPCInferenceService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  std::vector<double> latencies;
  inference::ModelInferResponse response;
  while (!stop.load(std::memory_order_relaxed)) {
    grpc::ClientContext context;
    const auto start = Clock::now();
    const grpc::Status status = stub->ModelInfer(&context, request, &response);
    const double micros = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (!status.ok() || response.raw_output_contents(0) != request.raw_input_contents(0)) {
      std::cerr << "wrong answer: " << status.error_message() << "\n";
      failed->store(true);
      break;
    }
    if (measuring.load(std::memory_order_relaxed)) latencies.push_back(micros);
  }
  return latencies;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: grpc_client ADDRESS MODEL BYTES CLIENTS SECONDS\n";
    return 2;
  }
  const inference::ModelInferRequest request = MakeRequest(argv[2], std::stoul(argv[3]));
  const int clients = std::stoi(argv[4]);
  const double seconds = std::stod(argv[5]);

  std::atomic<bool> measuring{false}, stop{false}, failed{false};
  std::vector<std::vector<double>> latencies(static_cast<size_t>(clients));
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back(
        [&, i] { latencies[static_cast<size_t>(i)] = RunClient(argv[1], request, i, measuring, stop, &failed); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  measuring = true;
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  if (failed) return 1;

  std::vector<double> all;
  for (const auto& some : latencies) all.insert(all.end(), some.begin(), some.end());
  if (all.empty()) return 1;
  std::sort(all.begin(), all.end());
  std::printf("{\"requests\": %zu, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", all.size(),
              static_cast<double>(all.size()) / elapsed, all[all.size() / 2], all[all.size() * 99 / 100]);
  return 0;
}
