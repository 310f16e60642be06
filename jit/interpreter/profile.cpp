#include "jit/interpreter/profile.h"

#include <utility>

#include "jit/interpreter/bailout_record.h"
#include "jit/support/memory_account.h"
#include "jit/support/thread_number.h"

namespace hearth {
namespace {

bool IsBackEdge(Opcode opcode) {
  return opcode == Opcode::kForBack || opcode == Opcode::kWhileBack || opcode == Opcode::kLoopBack;
}

// Whether the instruction is what its node comes down to, and not one of what goes with it.
bool IsTheCall(Opcode opcode) {
  switch (opcode) {
    case Opcode::kMove:
    case Opcode::kMoveLast:
    case Opcode::kMoveScalar:
    case Opcode::kMoveToScalar:
    case Opcode::kDrop:
    case Opcode::kJump:
    case Opcode::kWithExit:
      return false;
    default:
      return !IsBackEdge(opcode);
  }
}

}  // namespace

void RunProfile::Add(const std::string& name, const Operator& more) {
  std::lock_guard lock(mutex_);
  Operator& total = operators_[name];
  total.calls += more.calls;
  total.time += more.time;
  total.device_time += more.device_time;
}

void RunProfile::AddBailout(std::string why) {
  std::lock_guard lock(mutex_);
  bailouts_.push_back(std::move(why));
}

void RunProfile::Add(std::vector<Event> events) {
  std::lock_guard lock(mutex_);
  for (Event& event : events) {
    if (events_.size() == most_events_) return;
    events_.push_back(std::move(event));
  }
}

std::vector<RunProfile::Event> RunProfile::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::map<std::string, RunProfile::Operator> RunProfile::operators() const {
  std::lock_guard lock(mutex_);
  return operators_;
}

std::vector<std::string> RunProfile::bailouts() const {
  std::lock_guard lock(mutex_);
  return bailouts_;
}

InstructionTimer::~InstructionTimer() {
  if (current_ != nullptr) End(std::chrono::steady_clock::now());
  device_.End();
  // What is told is nobody's request's, and nothing may be thrown here.
  const MemoryAccount::Scope uncounted(nullptr);
  std::vector<RunProfile::Event> events;
  const size_t thread = NumberOfThread<RunProfile>();
  for (const Event& event : events_) {
    if (!IsTheCall(event.code->instructions[event.instruction].opcode)) continue;
    const InstructionOrigin& origin = event.code->origins[event.instruction];
    events.push_back({origin.kind.toQualString(), origin.range.source == nullptr ? "" : PlaceOf(origin.range),
                      event.start, event.time, thread, event.device.first, event.device.second});
  }
  profile_->Add(std::move(events));
  for (const auto& [code, entries] : by_code_) {
    for (size_t i = 0; i < entries.size(); ++i) {
      RunProfile::Operator spent = entries[i];
      if (spent.calls == 0) continue;
      const Opcode opcode = code->instructions[i].opcode;
      if (!IsTheCall(opcode)) spent.calls = 0;
      // A back-edge is made of its body's end.
      profile_->Add(IsBackEdge(opcode) ? "prim::Loop" : code->origins[i].kind.toQualString(), spent);
    }
  }
}

}  // namespace hearth
