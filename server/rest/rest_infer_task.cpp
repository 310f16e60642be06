#include "server/rest/rest_infer_task.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/api/split_message.h"
#include "server/rest/answer_json.h"
#include "server/rest/http_status.h"

namespace hearth::server {
namespace {

// The most JSON that HTTP's thread reads itself.
constexpr size_t kReadHere = 4 << 10;

grpc::ByteBuffer MessageOf(HttpBody body) {
  if (body.size() == 0) return {};
  auto* const owner = new HttpBody(std::move(body));
  const grpc::Slice slice(
      owner->data(), owner->size(), [](void* held) { delete static_cast<HttpBody*>(held); }, owner);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

RestInferTask::RestInferTask(const RequestEnvironment& environment, RestInferHead head, HttpBody body,
                             bool may_work_here)
    : InferTask(environment), head_(std::move(head)), may_work_here_(may_work_here) {
  MessageOf(std::move(body)).Swap(&message_);
}

bool RestInferTask::IsReadQuickly(const grpc::ByteBuffer& message) const {
  const size_t size = message.Length();
  return head_.body.coding == ContentCoding::kIdentity && size <= kShortMessage &&
         head_.body.json_size.value_or(size) <= kShortFields;
}

bool RestInferTask::ReadsHere(const grpc::ByteBuffer& message) const {
  return may_work_here_ && head_.body.json_size.value_or(message.Length()) <= kReadHere &&
         head_.answer_coding == ContentCoding::kIdentity;
}

absl::StatusOr<InferRequestMessage> RestInferTask::Read(const grpc::ByteBuffer& message,
                                                        google::protobuf::Arena& arena) {
  absl::Status status = Identify(head_.model, head_.version, "");
  if (!status.ok()) return status;
  // The body came in one piece.
  std::vector<grpc::Slice> slices;
  (void)message.Dump(&slices);
  auto body = ReadInferBody(head_.body, slices.empty() ? grpc::Slice() : std::move(slices[0]),
                            environment().max_request_bytes, servable().config, arena);
  if (!body.ok()) return body.status();
  const inference::ModelInferRequest& fields = *body->request.fields;
  set_id(fields.id());
  binary_by_default_ = body->binary_by_default;
  for (int i = 0; i < fields.outputs_size(); ++i) {
    binary_outputs_.emplace_back(fields.outputs(i).name(), body->binary_outputs[i].value_or(binary_by_default_));
  }
  return std::move(body->request);
}

absl::Status RestInferTask::Write(const AnswerHeader& header, std::vector<AnswerOutput> outputs,
                                  grpc::ByteBuffer& answer) {
  std::vector<bool> binary;
  binary.reserve(outputs.size());
  for (const AnswerOutput& output : outputs) {
    const auto asked = std::ranges::find(binary_outputs_, output.tensor.name, &std::pair<std::string, bool>::first);
    binary.push_back(asked == binary_outputs_.end() ? binary_by_default_ : asked->second);
  }
  auto encoded = EncodeJsonAnswer(header, std::move(outputs), binary);
  if (!encoded.ok()) return encoded.status();
  if (encoded->has_binary) json_size_ = encoded->json_size;
  if (head_.answer_coding == ContentCoding::kIdentity) {
    encoded->body.Swap(&answer);
  } else {
    hearth::server::Encode(head_.answer_coding, encoded->body).Swap(&answer);
  }
  return absl::OkStatus();
}

HttpResponse RestInferTask::MakeAnswer(const absl::Status& status, grpc::ByteBuffer& answer) {
  if (!status.ok()) return ErrorAnswer(status);
  // Pieces refer to the slices; these hold the tensors.
  struct Held {
    std::shared_ptr<RequestTask> task;
    std::vector<grpc::Slice> slices;
  };
  const auto held = std::make_shared<Held>();
  held->task = shared_from_this();
  (void)answer.Dump(&held->slices);
  answer.Clear();
  HttpResponse response{.content_type = "application/json"};
  if (json_size_ > 0) {
    response.content_type = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length", absl::StrCat(json_size_));
  }
  if (head_.answer_coding != ContentCoding::kIdentity) {
    response.headers.emplace_back("Content-Encoding", NameOf(head_.answer_coding));
  }
  for (const grpc::Slice& slice : held->slices) {
    response.pieces.push_back({held, {reinterpret_cast<const char*>(slice.begin()), slice.size()}});
  }
  return response;
}

}  // namespace hearth::server
