// How often a run calls each operator and how long that takes, for people who ask why a model is slow.
//
// A run with a profile (RunOptions::profile) has a dispatch loop of its own that looks at the clock before every
// instruction (about 25 ns); the loop of all other runs knows nothing of it. On a GPU it marks its stream as well
// (device_times.h). An instruction that calls a function of the model has the time of the call alone: what the callee
// does is counted there.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/interpreter/code.h"
#include "jit/interpreter/device_times.h"

namespace hearth {

// Of a run with its forks, or of several. Thread-safe.
class RunProfile {
 public:
  using Operator = OperatorTimes;

  // An instruction as it ran.
  struct Event {
    std::string name;
    std::string where;
    std::chrono::steady_clock::time_point start;
    std::chrono::nanoseconds time{0};
    size_t thread = 0;
    // When a GPU came to it, by the same clock, and its time; 0: there is none.
    std::chrono::steady_clock::time_point device_start{};
    std::chrono::nanoseconds device_time{0};
  };

  // Has so many events kept. Call before the run begins.
  void KeepEvents(size_t most) { most_events_ = most; }
  size_t most_events() const { return most_events_; }

  void Add(const std::string& name, const Operator& more);
  // As far as there is room.
  void Add(std::vector<Event> events);
  // A plan's code went on in the baseline's; why, in words.
  void AddBailout(std::string why);

  // By the kinds of the graph's nodes ("aten::add", "prim::Loop"); an inlined call has no entry.
  std::map<std::string, Operator> operators() const;
  // Why each did.
  std::vector<std::string> bailouts() const;
  std::vector<Event> events() const;

 private:
  size_t most_events_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Operator> operators_;
  std::vector<std::string> bailouts_;
  std::vector<Event> events_;
};

// One stay of a run in the dispatch loop. The time between two calls of Begin is the first one's instruction's.
class InstructionTimer {
 public:
  // `stream`: where the run's work goes on a GPU.
  InstructionTimer(RunProfile* profile, const std::optional<c10::Stream>& stream)
      : profile_(profile),
        most_events_(profile->most_events()),
        device_(stream,
                [this](size_t event, std::chrono::steady_clock::time_point start, std::chrono::nanoseconds time) {
                  if (event < events_.size()) events_[event].device = {start, time};
                }) {}
  InstructionTimer(const InstructionTimer&) = delete;
  InstructionTimer& operator=(const InstructionTimer&) = delete;
  // Tells the profile. The Codes are still there.
  ~InstructionTimer();

  void Begin(const Code& code, const Instruction* instruction) {
    const auto now = std::chrono::steady_clock::now();
    if (current_ != nullptr) End(now);
    if (code_ != &code) {
      code_ = &code;
      entries_ = &by_code_.try_emplace(&code, code.instructions.size()).first->second;
    }
    current_ = &(*entries_)[static_cast<size_t>(instruction - code.instructions.data())];
    ++current_->calls;
    since_ = now;
    if (!device_.has_device()) return;
    // What the mark takes is nobody's.
    device_.Begin(*current_, events_.size());
    since_ = std::chrono::steady_clock::now();
  }

 private:
  struct Event {
    const Code* code;
    size_t instruction;
    std::chrono::steady_clock::time_point start;
    std::chrono::nanoseconds time;
    std::pair<std::chrono::steady_clock::time_point, std::chrono::nanoseconds> device{};
  };

  // Of the instruction that Begin was called for last.
  void End(std::chrono::steady_clock::time_point now) {
    current_->time += now - since_;
    if (events_.size() >= most_events_) return;
    events_.push_back({code_, static_cast<size_t>(current_ - entries_->data()), since_, now - since_, {}});
  }

  RunProfile* const profile_;
  const size_t most_events_;
  std::vector<Event> events_;
  DeviceTimes device_;
  const Code* code_ = nullptr;
  std::vector<RunProfile::Operator>* entries_ = nullptr;  // code_'s, by instruction
  RunProfile::Operator* current_ = nullptr;
  std::chrono::steady_clock::time_point since_;
  std::unordered_map<const Code*, std::vector<RunProfile::Operator>> by_code_;
};

}  // namespace hearth
