#include "server/api/status.h"

#include "absl/strings/str_cat.h"
#include "proto/rpc/status.pb.h"
#include "server/scheduling/retry_advice.h"

namespace hearth::server {
namespace {

constexpr size_t kLongestMessage = 6000;
constexpr const char* kCut = "\n... (cut; the server's log has it whole) ...\n";

// Bytes that gRPC's percent encoding makes of one: printable ASCII stays, all else becomes %XX.
size_t EncodedSize(unsigned char byte) { return byte >= 0x20 && byte <= 0x7e && byte != '%' ? 1 : 3; }

bool IsContinuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// Length of the UTF-8 sequence at `at`, 0 if there is none that is whole.
size_t SequenceLength(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(static_cast<unsigned char>(text[at + i]))) return 0;
  }
  return length;
}

std::string ReplaceInvalid(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = SequenceLength(text, at);
    valid.append(length == 0 ? "?" : text.substr(at, length));
    at += std::max<size_t>(length, 1);
  }
  return valid;
}

}  // namespace

std::string FitHeader(std::string_view message, size_t limit) {
  const std::string text = ReplaceInvalid(message);
  size_t total = 0;
  for (unsigned char byte : text) total += EncodedSize(byte);
  if (total <= limit) return text;
  // The end of a traceback says what happened, its beginning where: the end gets the larger part.
  size_t head = 0, head_size = 0;
  while (head < text.size() && head_size < limit / 3) head_size += EncodedSize(text[head++]);
  while (head > 0 && IsContinuation(text[head])) --head;
  size_t tail = text.size(), tail_size = 0;
  while (tail > head && tail_size < limit - limit / 3) tail_size += EncodedSize(text[--tail]);
  while (tail < text.size() && IsContinuation(text[tail])) ++tail;
  return text.substr(0, head) + kCut + text.substr(tail);
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const absl::string_view message = status.message();
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string text = FitHeader(std::string_view(message.data(), message.size()), kLongestMessage);
  const auto advice = status.GetPayload(kRetryInfoType);
  if (!advice) return {code, text};
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(text);
  google::protobuf::Any& detail = *details.add_details();
  detail.set_type_url(kRetryInfoType);
  detail.set_value(std::string(*advice));
  return {code, text, details.SerializeAsString()};
}

grpc::Status ToGrpc(const absl::Status& status, grpc::ServerContextBase& context) {
  if (const auto delay = RetryAfterOf(status)) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(delay->count()));
  }
  return ToGrpc(status);
}

}  // namespace hearth::server
