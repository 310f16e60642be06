// A call with more rows than a batch may have, as parts that are calls of their own, and their answers as its answer.
//
// The parts are in the order of its rows, and so are their answers in its answer, which is joined in the memory of the
// call's account when the last of them has come. A part that fails fails the call, with its message; the others are
// cancelled then, and the call ends when they have. All parts have the call's deadline and count for its account.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "server/repository/servable.h"
#include "server/scheduling/dispatched_call.h"

namespace hearth::server {

// Thread-safe.
class SplitCall : public CallHandle, public std::enable_shared_from_this<SplitCall> {
 public:
  struct Part {
    DispatchedCall call;
    DispatchCallback callback;
  };

  // Every tensor of the call has so many rows. `callback` is called once, after the last part's.
  SplitCall(ServablePtr servable, DispatchedCall call, DispatchCallback callback, int64_t rows, int64_t rows_of_part);

  // Once. Their callbacks keep this alive.
  std::vector<Part> TakeParts();
  // The parts' runs, in whatever state they are by now.
  void SetHandles(std::vector<std::shared_ptr<CallHandle>> handles);

  void Cancel() override;

 private:
  void Began();
  void Ended(size_t part, absl::StatusOr<c10::IValue> answer, const Execution& execution);
  absl::StatusOr<c10::IValue> Join();
  int64_t RowsOf(size_t part) const;

  const int64_t rows_, rows_of_part_;
  DispatchedCall call_;
  std::atomic<bool> began_{false};
  std::mutex mutex_;
  ServablePtr servable_;
  DispatchCallback callback_;
  std::vector<std::shared_ptr<CallHandle>> handles_;
  bool cancelled_ = false;
  std::vector<c10::IValue> answers_;  // by part
  absl::Status failure_;              // the first one
  size_t open_;                       // parts that have not ended
  Execution execution_;
};

}  // namespace hearth::server
