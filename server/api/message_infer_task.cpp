#include "server/api/message_infer_task.h"

#include <utility>

#include "server/api/split_message.h"

namespace hearth::server {

bool MessageInferTask::IsReadQuickly(const grpc::ByteBuffer& message) const {
  return server::IsReadQuickly(message, inference::ModelInferRequest::kRawInputContentsFieldNumber);
}

absl::StatusOr<InferRequestMessage> MessageInferTask::Read(const grpc::ByteBuffer& message,
                                                           google::protobuf::Arena& arena) {
  auto request = ParseInferRequest(message, arena);
  if (!request.ok()) return request.status();
  const inference::ModelInferRequest& fields = *request->fields;
  absl::Status status = Identify(fields.model_name(), fields.model_version(), fields.id());
  if (!status.ok()) return status;
  return MatchContents(*std::move(request));
}

absl::Status MessageInferTask::Write(const AnswerHeader& header, std::vector<AnswerOutput> outputs,
                                     grpc::ByteBuffer& answer) {
  const auto encode = form_ == Form::kStream ? EncodeStreamResponse : EncodeInferResponse;
  encode(header, std::move(outputs)).Swap(&answer);
  return absl::OkStatus();
}

}  // namespace hearth::server
