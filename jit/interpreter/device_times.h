// When a GPU came to what each instruction of a run asked of it: a mark in the run's stream before each instruction,
// whose time the GPU keeps. What lies between two marks is the first one's instruction's, its wait for the host
// included where the GPU is the faster of the two.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace hearth {

// Of an instruction, or of all of a kind.
struct OperatorTimes {
  uint64_t calls = 0;
  std::chrono::nanoseconds time{0};         // of the host
  std::chrono::nanoseconds device_time{0};  // of the GPU; 0: there is none
};

// Of one thread.
class DeviceTimes {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Told of what was begun as an event: when the GPU came to it, by the host's clock, and how long it was at it.
  using Told = std::function<void(size_t event, TimePoint start, std::chrono::nanoseconds time)>;

  // No stream: there is no GPU, and nothing to tell.
  DeviceTimes(const std::optional<c10::Stream>& stream, Told told) : stream_(stream), told_(std::move(told)) {}

  bool has_device() const { return stream_.has_value(); }

  // An instruction begins, and the one before ends. Its time is added to `times` by End at the latest; `event`, if
  // there is one, is what `told` is told. Waits for the GPU once in so many instructions. Does not throw.
  void Begin(OperatorTimes& times, std::optional<size_t> event);
  // Ends the last one, and waits until the GPU is through. Does not throw.
  void End();

 private:
  struct Mark {
    c10::Event begin;
    OperatorTimes* times;
    std::optional<size_t> event;
  };
  void Record(OperatorTimes& times, std::optional<size_t> event);
  void Tell();

  std::optional<c10::Stream> stream_;  // empty too once the device fails
  const Told told_;
  std::vector<Mark> marks_;
  size_t num_marks_ = 0;  // in use, of marks_
};

}  // namespace hearth
