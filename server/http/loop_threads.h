// The two threads of an HTTP port. One carries the connections. While it does something for one of them that may last,
// it lends them: they are then no concern of its, and if it does last, the other thread, which watches, takes them over
// and carries on. Who comes back too late watches from then on. So what is short is done where the connections are,
// with no hand-over, and what is not keeps them waiting for two milliseconds at most.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace hearth::server {

class LoopThreads {
 public:
  using Clock = std::chrono::steady_clock;

  // `carry` does one piece of the connections' work, or waits for one; false if none is left and none will come. Begins
  // with it on one of the threads.
  void Start(std::function<bool()> carry);
  // Waits until `carry` has said so, and both threads have ended.
  void Join();

  // The following are for the thread that carries, from within `carry`.

  // Whether the other one watches. If it does not, it is late itself, and nobody would take over.
  bool watched() const { return watched_.load(std::memory_order_relaxed); }
  // From here on the other thread may take over. It would begin with `go_on`. What is returned is for TakeBack.
  uint64_t Lend(Clock::time_point now, std::function<void()> go_on);
  // False if the other thread has taken over: then all that it may touch is to be left alone, and `carry` to be left.
  bool TakeBack(uint64_t loan);

 private:
  void Run(int number);
  void Carry(int number);
  // Until the other thread is late, and this one has taken over; false if the end has come.
  bool Watch(int number);
  void End();

  std::function<bool()> carry_;
  std::array<std::thread, 2> threads_;

  std::atomic<int> carrier_{0};  // the number of the thread that carries
  std::atomic<bool> watched_{false};
  std::atomic<uint64_t> loan_{0};  // that is open; 0: none is
  std::atomic<Clock::rep> lent_at_{0};
  std::atomic<uint64_t> loans_{0};  // so far
  std::function<void()> go_on_;     // belongs to who carries, and with a loan to who ends it

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  // The watcher has seen no loan for a while, and is to be woken by the next one. Who lends looks at it after the loan
  // is there, who falls asleep at the loan after this is set, all in sequentially consistent order.
  std::atomic<bool> asleep_{false};
};

}  // namespace hearth::server
