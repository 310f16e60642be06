// One call of the protocol hearth.v1: any method of a model, with values as wire/value_from_message.h reads them
// against the method's schema, and its result as wire/message_from_value.h writes it.
#pragma once

#include <memory>
#include <string>

#include "server/api/native_sample.h"
#include "server/api/request_task.h"

namespace hearth::server {

class NativeTask final : public RequestTask {
 public:
  using RequestTask::RequestTask;

 private:
  const char* operation() const override { return "hearth.v1.ModelService/Call"; }
  bool IsShort(const grpc::ByteBuffer& message) const override;
  absl::StatusOr<DispatchedCall> Prepare(const grpc::ByteBuffer& message) override;
  // For whoever records the request, or has another version answer it too.
  void Keep(const grpc::ByteBuffer& message, const std::string& method);
  // There is no memory for what is kept, which is not the request's fault.
  void KeepNothing();
  void KeepAnswer(const grpc::ByteBuffer& answer);
  absl::Status Encode(c10::IValue result, grpc::ByteBuffer& answer) override;

  LiveCalls::Place place_;  // of the sample
  std::unique_ptr<NativeSample> sample_;
};

}  // namespace hearth::server
