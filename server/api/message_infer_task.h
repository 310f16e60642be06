// An inference whose request and answer are the protocol's messages, as gRPC carries them.
#pragma once

#include "server/api/infer_task.h"

namespace hearth::server {

class MessageInferTask final : public InferTask {
 public:
  // What the answer is sent as: a ModelInferResponse or a ModelStreamInferResponse.
  enum class Form { kUnary, kStream };

  MessageInferTask(const RequestEnvironment& environment, Form form) : InferTask(environment), form_(form) {}

 private:
  const char* operation() const override {
    return form_ == Form::kStream ? "inference.GRPCInferenceService/ModelStreamInfer"
                                  : "inference.GRPCInferenceService/ModelInfer";
  }
  bool IsReadQuickly(const grpc::ByteBuffer& message) const override;
  absl::StatusOr<InferRequestMessage> Read(const grpc::ByteBuffer& message, google::protobuf::Arena& arena) override;
  absl::Status Write(const AnswerHeader& header, std::vector<AnswerOutput> outputs, grpc::ByteBuffer& answer) override;

  const Form form_;
};

}  // namespace hearth::server
