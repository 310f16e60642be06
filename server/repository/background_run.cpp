#include "server/repository/background_run.h"

#include <future>
#include <memory>
#include <utility>

namespace hearth::server {

absl::StatusOr<c10::IValue> RunInBackground(const Servable& servable, const std::string& method, BoundArguments bound,
                                            const BackgroundBounds& bounds, int operator_threads) {
  CallOptions options;
  options.deadline = bounds.deadline;
  options.is_warmup = true;
  options.in_background = bounds.in_background;
  options.operator_threads = operator_threads;
  // Shared, for the callback may still be under way when the wait is over.
  const auto promise = std::make_shared<std::promise<absl::StatusOr<c10::IValue>>>();
  const auto call = servable.model->CallAsync(
      method, std::move(bound.args), std::move(bound.kwargs), options,
      [promise](absl::StatusOr<c10::IValue> answer) { promise->set_value(std::move(answer)); });
  const std::stop_callback cancel(bounds.stop, [&call] { call->Cancel(); });
  return promise->get_future().get();
}

}  // namespace hearth::server
