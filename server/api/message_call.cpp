#include "server/api/message_call.h"

#include "server/api/guarded.h"
#include "server/api/inflate.h"
#include "server/api/status.h"

namespace hearth::server {
namespace {

// Smaller messages count for no account.
constexpr size_t kFewBytes = 4 << 10;

}  // namespace

void MessageCall::Start(const MessageBounds& bounds, Dispatcher* elsewhere) {
  self_ = shared_from_this();
  const bool is_short = buffer_.Length() <= MessageBounds().bytes && CompressionOf(buffer_) == Compression::kNone;
  if (elsewhere == nullptr || is_short) return Read(bounds);
  absl::Status status = elsewhere->Post(WorkLength::kLong, [this, bounds] { Read(bounds); });
  if (!status.ok()) Answer(std::move(status));
}

void MessageCall::Read(const MessageBounds& bounds) {
  // The answer may be sent before the method returns.
  const auto self = shared_from_this();
  const absl::Status status = Guarded([&] {
    if (buffer_.Length() > kFewBytes || CompressionOf(buffer_) != Compression::kNone) Charge(buffer_.Length());
    const absl::Status read = ReadMessage(buffer_, bounds, memory_ ? &*memory_ : nullptr, request());
    if (read.ok()) Call();
    return read;
  });
  if (!status.ok()) Answer(status);
}

void MessageCall::Charge(size_t bytes) {
  MemoryAccount* const all = call_.environment.memory;
  if (all == nullptr) return;
  if (!memory_.has_value()) memory_.emplace(all->limit(), all);
  memory_->Charge(bytes);
}

void MessageCall::Answer(absl::Status status) {
  if (answered_.exchange(true)) return;
  grpc::ByteBuffer& answer = *call_.response;
  if (status.ok()) {
    status = Guarded([&] {
      WriteMessage(response(), answer);
      if (answer.Length() > kFewBytes) Charge(answer.Length());
      return absl::OkStatus();
    });
    if (!status.ok()) answer.Clear();
  }
  if (answer.Length() > SendLimit::kFewBytes) send_limit_.Begin(*call_.context, call_.environment.send_time);
  Finish(ToGrpc(status, *call_.context));
}

}  // namespace hearth::server
