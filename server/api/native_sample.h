// A live call of the native service as another version is compared on it: its message, and that of its answer.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <utility>

#include "server/repository/live_calls.h"

namespace hearth::server {

class NativeSample final : public LiveCall {
 public:
  // A CallRequest, whose memory nobody writes any more.
  NativeSample(std::string method, const grpc::ByteBuffer& message) : method_(std::move(method)), message_(message) {}

  // A CallResponse, likewise.
  void SetAnswer(const grpc::ByteBuffer& answer) { answer_ = answer; }
  size_t bytes() const { return message_.Length() + answer_.Length(); }

  const std::string& method() const override { return method_; }
  absl::StatusOr<BoundArguments> Bind(const Servable& version) const override;
  absl::StatusOr<AnswerDifference> Compare(c10::IValue result, const Servable& version,
                                           double tolerance) const override;

 private:
  const std::string method_;
  const grpc::ByteBuffer message_;
  grpc::ByteBuffer answer_;
};

}  // namespace hearth::server
