// Measures one server with ModelInfer requests of one FP32 tensor, one call at a time from each of a number of clients:
//   grpc_client ADDRESS MODEL BYTES CLIENTS SECONDS [CA.pem]
// prints what closed_loop.h says. Each client has a channel of its own, over TLS if certificates are given that it is
// to trust, keeps its messages between calls and checks that the answer is the request's bytes.
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "benchmarks/closed_loop.h"
#include "proto/inference/service.grpc.pb.h"

namespace {

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

hearth::benchmarks::Call Connect(const std::string& address, const inference::ModelInferRequest& request,
                                 const std::shared_ptr<grpc::ChannelCredentials>& credentials, int client) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt("hearth.benchmark.client", client);  // a connection of its own
  const std::shared_ptr<inference::GRPCInferenceService::Stub> stub =
      inference::GRPCInferenceService::NewStub(grpc::CreateCustomChannel(address, credentials, arguments));
  return [stub, &request, response = inference::ModelInferResponse()]() mutable {
    grpc::ClientContext context;
    const grpc::Status status = stub->ModelInfer(&context, request, &response);
    if (status.ok() && response.raw_output_contents(0) == request.raw_input_contents(0)) return true;
    std::cerr << "wrong answer: " << status.error_message() << "\n";
    return false;
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) {
    std::cerr << "usage: grpc_client ADDRESS MODEL BYTES CLIENTS SECONDS [CA.pem]\n";
    return 2;
  }
  const std::string address = argv[1];
  const inference::ModelInferRequest request = MakeRequest(argv[2], std::stoul(argv[3]));
  auto credentials = grpc::InsecureChannelCredentials();
  if (argc == 7) {
    std::ifstream file(argv[6]);
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = std::string(std::istreambuf_iterator<char>(file), {});
    credentials = grpc::SslCredentials(options);
  }
  return hearth::benchmarks::RunClosedLoop(std::stoi(argv[4]), std::stod(argv[5]),
                                           [&](int client) { return Connect(address, request, credentials, client); });
}
