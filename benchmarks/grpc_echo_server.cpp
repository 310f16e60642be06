// The least that a gRPC server can do with the protocol's messages: answers ModelInfer with the request's own bytes, no
// model, no checks. What hearthd's identity model is measured against. grpc_echo_server PORT
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <string>

#include "proto/inference/service.grpc.pb.h"

namespace {

class EchoService final : public inference::GRPCInferenceService::CallbackService {
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const inference::ModelInferRequest* request,
                                       inference::ModelInferResponse* response) override {
    response->set_model_name(request->model_name());
    const auto& input = request->inputs(0);
    auto* output = response->add_outputs();
    output->set_name("OUTPUT__0");
    output->set_datatype(input.datatype());
    *output->mutable_shape() = input.shape();
    *response->add_raw_output_contents() = request->raw_input_contents(0);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: grpc_echo_server PORT\n";
    return 2;
  }
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::cout << "listening on " << port << std::endl;
  server->Wait();
}
