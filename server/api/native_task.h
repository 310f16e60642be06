// One call of the protocol hearth.v1: any method of a model, with values as wire/value_from_message.h reads them
// against the method's schema, and its result as wire/message_from_value.h writes it.
#pragma once

#include "server/api/request_task.h"

namespace hearth::server {

class NativeTask final : public RequestTask {
 public:
  // Fields of one request beside its payloads; a value takes many times its encoding.
  static constexpr size_t kMostFieldBytes = 16 << 20;

  using RequestTask::RequestTask;

 private:
  const char* operation() const override { return "hearth.v1.ModelService/Call"; }
  bool IsShort(const grpc::ByteBuffer& message) const override;
  absl::StatusOr<DispatchedCall> Prepare(const grpc::ByteBuffer& message) override;
  void Record(const grpc::ByteBuffer& message, const std::string& method);
  absl::Status Encode(c10::IValue result, grpc::ByteBuffer& answer) override;
};

}  // namespace hearth::server
