#include "jit/interpreter/device_times.h"

#include <cmath>
#include <cstdint>

namespace hearth {
namespace {

// Marks that the GPU may be behind by; CUDA holds a bounded number of launches as well.
constexpr size_t kMostMarks = 512;

std::chrono::nanoseconds Nanoseconds(double milliseconds) {
  return std::chrono::nanoseconds(std::llround(milliseconds * 1e6));
}

}  // namespace

void DeviceTimes::Begin(OperatorTimes& times, std::optional<size_t> event) {
  if (!stream_) return;
  try {
    if (num_marks_ == kMostMarks) Tell();
    Record(times, event);
  } catch (const std::exception&) {
    // Whoever asks for the answer learns what is wrong with the device.
    stream_.reset();
  }
}

void DeviceTimes::End() {
  if (!stream_ || num_marks_ == 0) return;
  try {
    Tell();
  } catch (const std::exception&) {
    stream_.reset();
  }
}

void DeviceTimes::Record(OperatorTimes& times, std::optional<size_t> event) {
  if (num_marks_ == marks_.size()) {
    marks_.push_back({c10::Event(stream_->device_type(), c10::EventFlag::BACKEND_DEFAULT), nullptr, {}});
  }
  Mark& mark = marks_[num_marks_];
  mark.begin.record(*stream_);
  mark.times = &times;
  mark.event = event;
  ++num_marks_;
}

void DeviceTimes::Tell() {
  c10::Event end(stream_->device_type(), c10::EventFlag::BACKEND_DEFAULT);
  end.record(*stream_);
  TimePoint ended = std::chrono::steady_clock::now();
  // A GPU that keeps up comes to a mark as it is made.
  if (!end.query()) {
    end.synchronize();
    ended = std::chrono::steady_clock::now();
  }
  for (size_t i = 0; i < num_marks_; ++i) {
    const Mark& mark = marks_[i];
    const std::chrono::nanoseconds time =
        Nanoseconds(mark.begin.elapsedTime(i + 1 < num_marks_ ? marks_[i + 1].begin : end));
    mark.times->device_time += time;
    if (mark.event) told_(*mark.event, ended - Nanoseconds(mark.begin.elapsedTime(end)), time);
  }
  num_marks_ = 0;
}

}  // namespace hearth
