// The time in which a client must take up an answer: a call whose client reads nothing is cancelled when it has passed,
// which frees the answer. Begin and End are called in turn, by one thread at a time; End also while the call is being
// cancelled, by any thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

namespace hearth::server {

class SendLimit {
 public:
  // Answers of so many bytes need no limit: they take little more memory than their connection.
  static constexpr size_t kFewBytes = 64 << 10;

  ~SendLimit() { End(); }

  // The context must be there until End.
  void Begin(grpc::ServerContextBase& context, std::chrono::nanoseconds limit) {
    state_ = std::make_shared<State>();
    state_->context = &context;
    alarm_.emplace();
    alarm_->Set(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(limit),
                [state = state_](bool passed) {
                  const std::lock_guard lock(state->mutex);
                  if (passed && state->context != nullptr) state->context->TryCancel();
                });
  }

  void End() {
    if (state_ == nullptr) return;
    {
      const std::lock_guard lock(state_->mutex);
      state_->context = nullptr;
    }
    alarm_.reset();
    state_ = nullptr;
  }

 private:
  struct State {
    std::recursive_mutex mutex;  // to cancel may end the call on the same thread
    grpc::ServerContextBase* context = nullptr;
  };

  std::shared_ptr<State> state_;
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace hearth::server
