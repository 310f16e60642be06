// How often a run calls each operator and how long that takes, for people who ask why a model is slow.
//
// A run with a profile (RunOptions::profile) has a dispatch loop of its own that looks at the clock before every
// instruction (about 25 ns); the loop of all other runs knows nothing of it. What a GPU does after it was asked is not
// in the times. An instruction that calls a function of the model has the time of the call alone: what the callee does
// is counted there.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/interpreter/code.h"

namespace hearth {

// Of a run with its forks, or of several. Thread-safe.
class RunProfile {
 public:
  struct Operator {
    uint64_t calls = 0;
    std::chrono::nanoseconds time{0};
  };

  void Add(const std::string& name, const Operator& more);
  // A plan's code went on in the baseline's; why, in words.
  void AddBailout(std::string why);

  // By the kinds of the graph's nodes ("aten::add", "prim::Loop"); an inlined call has no entry.
  std::map<std::string, Operator> operators() const;
  // Why each did.
  std::vector<std::string> bailouts() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Operator> operators_;
  std::vector<std::string> bailouts_;
};

// One stay of a run in the dispatch loop. The time between two calls of Begin is the first one's instruction's.
class InstructionTimer {
 public:
  explicit InstructionTimer(RunProfile* profile) : profile_(profile) {}
  InstructionTimer(const InstructionTimer&) = delete;
  InstructionTimer& operator=(const InstructionTimer&) = delete;
  // Tells the profile. The Codes are still there.
  ~InstructionTimer();

  void Begin(const Code& code, const Instruction* instruction) {
    const auto now = std::chrono::steady_clock::now();
    if (current_ != nullptr) current_->time += now - since_;
    if (code_ != &code) {
      code_ = &code;
      entries_ = &by_code_.try_emplace(&code, code.instructions.size()).first->second;
    }
    current_ = &(*entries_)[static_cast<size_t>(instruction - code.instructions.data())];
    ++current_->calls;
    since_ = now;
  }

 private:
  RunProfile* const profile_;
  const Code* code_ = nullptr;
  std::vector<RunProfile::Operator>* entries_ = nullptr;  // code_'s, by instruction
  RunProfile::Operator* current_ = nullptr;
  std::chrono::steady_clock::time_point since_;
  std::unordered_map<const Code*, std::vector<RunProfile::Operator>> by_code_;
};

}  // namespace hearth
