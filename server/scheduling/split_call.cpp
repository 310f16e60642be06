#include "server/scheduling/split_call.h"

#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/memory_account.h"
#include "jit/support/tensors_in.h"
#include "server/scheduling/batch_values.h"

namespace hearth::server {

SplitCall::SplitCall(ServablePtr servable, DispatchedCall call, DispatchCallback callback, int64_t rows,
                     int64_t rows_of_part)
    : rows_(rows),
      rows_of_part_(rows_of_part),
      call_(std::move(call)),
      servable_(std::move(servable)),
      callback_(std::move(callback)),
      answers_((rows + rows_of_part - 1) / rows_of_part),
      open_(answers_.size()) {
  execution_.rows = rows;
  execution_.counts = false;
}

int64_t SplitCall::RowsOf(size_t part) const {
  return std::min(rows_of_part_, rows_ - static_cast<int64_t>(part) * rows_of_part_);
}

std::vector<SplitCall::Part> SplitCall::TakeParts() {
  std::vector<Part> parts;
  for (size_t i = 0; i < answers_.size(); ++i) {
    const int64_t first = static_cast<int64_t>(i) * rows_of_part_;
    const auto cut = [&](const at::Tensor& tensor) { return tensor.narrow(0, first, RowsOf(i)); };
    Part& part = parts.emplace_back();
    part.call.method = call_.method;
    for (const c10::IValue& value : call_.arguments.args) part.call.arguments.args.push_back(MapTensors(value, cut));
    for (const auto& [name, value] : call_.arguments.kwargs)
      part.call.arguments.kwargs.emplace_back(name, MapTensors(value, cut));
    part.call.deadline = call_.deadline;
    part.call.bytes = call_.bytes;
    part.call.rows = RowsOf(i);
    part.call.queue = call_.queue;
    part.call.memory = call_.memory;
    part.call.is_split_part = true;
    part.call.on_start = [self = shared_from_this()] { self->Began(); };
    part.callback = [self = shared_from_this(), i](absl::StatusOr<c10::IValue> answer, const Execution& execution) {
      self->Ended(i, std::move(answer), execution);
    };
  }
  call_.arguments = {};
  return parts;
}

void SplitCall::SetHandles(std::vector<std::shared_ptr<CallHandle>> handles) {
  {
    std::lock_guard lock(mutex_);
    // The runs that they are of hold this, until they end.
    if (open_ == 0) return;
    if (!cancelled_) {
      handles_ = std::move(handles);
      return;
    }
  }
  for (const auto& handle : handles) handle->Cancel();
}

void SplitCall::Began() {
  if (began_.exchange(true)) return;
  // The call has not ended: this part of it has not.
  servable_->statistics->Began();
  if (call_.on_start) call_.on_start();
}

void SplitCall::Cancel() {
  std::vector<std::shared_ptr<CallHandle>> handles;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    handles.swap(handles_);
  }
  for (const auto& handle : handles) handle->Cancel();
}

void SplitCall::Ended(size_t part, absl::StatusOr<c10::IValue> answer, const Execution& execution) {
  bool last = false;
  bool failed_first = false;
  {
    std::lock_guard lock(mutex_);
    if (answer.ok()) {
      answers_[part] = *std::move(answer);
    } else if (failure_.ok()) {
      failure_ = answer.status();
      failed_first = true;
    }
    if (execution.counts) execution_.further_rows.push_back(execution.rows);
    execution_.tier = std::max(execution_.tier, execution.tier);
    last = --open_ == 0;
    if (last) handles_.clear();
  }
  if (!last) {
    if (failed_first) Cancel();
    return;
  }
  // Nobody else has anything to do with it any more.
  absl::StatusOr<c10::IValue> whole = failure_.ok() ? Join() : failure_;
  answers_.clear();
  std::exchange(callback_, nullptr)(std::move(whole), execution_);
  call_.on_start = nullptr;
  servable_ = nullptr;
}

absl::StatusOr<c10::IValue> SplitCall::Join() try {
  const MemoryAccount::Scope counting(call_.memory.get());
  for (size_t i = 0; i < answers_.size(); ++i) {
    const int64_t rows[] = {RowsOf(i)};
    if (hearth::server::Split(answers_[i], rows, /*padding=*/0)) continue;
    return absl::InternalError(absl::StrCat("the answer to a part of the request has not that part's ", rows[0],
                                            " rows in each tensor, so the request's ", rows_,
                                            " rows, which are more than max_batch_size, are not answered"));
  }
  return JoinAnswers(answers_);
} catch (const MemoryLimitError& error) {
  return absl::ResourceExhaustedError(absl::StrCat("joining the answers to a request's parts ", error.what()));
} catch (const std::exception& error) {
  return absl::InternalError(absl::StrCat("the answers to the request's parts cannot be joined: ", error.what()));
}

}  // namespace hearth::server
