// One inference of the Open Inference Protocol: named tensors to the arguments of `forward`, and its answer back to
// named tensors.
#pragma once

#include <string>
#include <vector>

#include "proto/inference/service.pb.h"
#include "server/api/request_task.h"
#include "server/api/response_message.h"

namespace hearth::server {

class InferTask final : public RequestTask {
 public:
  // What the answer is sent as: a ModelInferResponse or a ModelStreamInferResponse.
  enum class Form { kUnary, kStream };

  InferTask(const RequestEnvironment& environment, Form form) : RequestTask(environment), form_(form) {}

 private:
  uint32_t raw_field() const override { return inference::ModelInferRequest::kRawInputContentsFieldNumber; }
  absl::StatusOr<DispatchedCall> Prepare(const grpc::ByteBuffer& message) override;
  absl::Status Encode(c10::IValue result, grpc::ByteBuffer& answer) override;

  const Form form_;
  std::vector<std::string> requested_;
};

}  // namespace hearth::server
