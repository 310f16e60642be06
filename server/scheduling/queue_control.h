// How long calls wait in a queue, and how long they may: keeps a queue under overload short, so that what is accepted
// is answered in time, and what is not is refused at once.
//
// The bound on the time in the queue is used as controlled delay does it (CoDel: Nichols, Jacobson, ACM Queue 10(5),
// 2012; for queues of requests: Maurer, "Fail at Scale", ACM Queue 13(8), 2015). A burst may wait for as long as the
// bound. A queue that was never empty for as long as that holds no burst but more than can be served: calls may then
// wait for a tenth of it, which is enough to keep the model busy, until the queue has been empty once. How long a call
// would wait is told from how fast calls leave while others wait, so the number of calls in the queue follows what the
// model gets done, with the share that it has of the threads.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace hearth::server {

class QueueControl {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // 0: calls may wait for any time.
  explicit QueueControl(Duration bound) : bound_(bound) {}

  // A call comes and finds nobody waiting.
  void FoundEmpty(TimePoint now) { last_empty_ = now; }
  // So many calls left the queue for a run, and whether others stay.
  void Left(int64_t calls, bool others_wait, TimePoint now);

  // How long a call waits that is the `place`th in the queue, from 1; 0 as long as nobody can tell.
  Duration WaitAt(int64_t place) const;
  // How long a call that comes now may wait; Duration::max() if there is no bound.
  Duration AllowedWait(TimePoint now) const;
  Duration bound() const { return bound_; }

 private:
  const Duration bound_;
  TimePoint last_empty_;
  // Of the time in which calls waited: its seconds, and the calls that left in it, the latest counting most.
  double seconds_ = 0;
  double calls_ = 0;
  bool backlogged_ = false;
  TimePoint last_left_;
};

}  // namespace hearth::server
