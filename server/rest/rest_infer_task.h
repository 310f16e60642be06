// An inference whose request and answer are HTTP's: JSON, and contents of tensors in binary form behind it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <utility>
#include <vector>

#include "server/api/infer_task.h"
#include "server/http/http_message.h"
#include "server/rest/request_body.h"

namespace hearth::server {

// What the request's path and headers say.
struct RestInferHead {
  std::string model;
  std::string version;  // empty: the server chooses
  BodyHeaders body = {};
  ContentCoding answer_coding = ContentCoding::kIdentity;
};

class RestInferTask final : public InferTask {
 public:
  // See HttpResponder for `may_work_here`.
  RestInferTask(const RequestEnvironment& environment, RestInferHead head, HttpBody body, bool may_work_here);

  // The body, for Start.
  const grpc::ByteBuffer& message() const { return message_; }
  // The answer as HTTP carries it, from what Done was given; it keeps the task until it is sent.
  HttpResponse MakeAnswer(const absl::Status& status, grpc::ByteBuffer& answer);

 private:
  const char* operation() const override { return "POST /v2/models/{model}/infer"; }
  bool IsReadQuickly(const grpc::ByteBuffer& message) const override;
  // HTTP's thread carries all connections: it reads only what takes less time than to hand it over.
  bool ReadsHere(const grpc::ByteBuffer& message) const override;
  CallerThread caller() const override { return CallerThread::kOnlyOne; }
  absl::StatusOr<InferRequestMessage> Read(const grpc::ByteBuffer& message, google::protobuf::Arena& arena) override;
  absl::Status Write(const AnswerHeader& header, std::vector<AnswerOutput> outputs, grpc::ByteBuffer& answer) override;

  const RestInferHead head_;
  grpc::ByteBuffer message_;
  const bool may_work_here_;
  std::vector<std::pair<std::string, bool>> binary_outputs_;  // in the order of the request
  bool binary_by_default_ = false;
  size_t json_size_ = 0;  // of an answer that has more behind it; else 0
};

}  // namespace hearth::server
