#include "jit/interpreter/state.h"

#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "jit/interpreter/awaitable.h"
#include "jit/interpreter/profile.h"
#include "jit/interpreter/run_group.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/interpreter/traceback.h"
#include "jit/operators/value_parts.h"
#include "jit/support/arena_limits.h"
#include "jit/support/errors.h"
#include "jit/support/resource_error.h"

namespace hearth {
namespace {

thread_local const RunOptions* current_options = nullptr;

// While a run is on a thread: its options are the thread's, and its mode, if it has one of its own.
class OnThread {
 public:
  OnThread(const RunOptions& options, std::optional<Mode>& mode)
      : mode_(mode), saved_options_(std::exchange(current_options, &options)), memory_(options.memory.get()) {
    if (!mode_) return;
    saved_mode_ = Mode::OfThread(mode_->device());
    mode_->Install();
  }
  ~OnThread() {
    current_options = saved_options_;
    if (!mode_) return;
    mode_ = Mode::OfThread(mode_->device());
    saved_mode_->Install();
  }

 private:
  std::optional<Mode>& mode_;
  std::optional<Mode> saved_mode_;
  const RunOptions* saved_options_;
  MemoryAccount::Scope memory_;
};

// Who takes a run's answer goes through it by recursion, on a stack of the usual size.
constexpr size_t kMaxAnswerDepth = 1000;

}  // namespace

const RunOptions* InterpreterState::CurrentOptions() { return current_options; }

InterpreterState::InterpreterState(RunOptions options, std::optional<Mode> mode, Waiting waiting)
    : options_(std::move(options)), mode_(std::move(mode)), waiting_(waiting) {}

InterpreterState::~InterpreterState() = default;

void InterpreterState::Start(const Code& code, std::vector<c10::IValue> arguments) {
  if (arguments.size() != code.num_inputs) {
    throw ArgumentError(code.function_name + " takes " + std::to_string(code.num_inputs) + " arguments but got " +
                        std::to_string(arguments.size()));
  }
  GrowRegisters(std::max<size_t>(code.num_registers, 16));
  for (size_t i = 0; i < arguments.size(); ++i) registers_[i] = std::move(arguments[i]);
  PushFrame(code, 0);
}

void InterpreterState::SetCompletion(std::shared_ptr<const Code> code, Completion completion) {
  code_ = std::move(code);
  completion_ = std::move(completion);
}

void InterpreterState::SetFuture(std::shared_ptr<const Code> code, c10::intrusive_ptr<c10::ivalue::Future> future) {
  code_ = std::move(code);
  future_ = std::move(future);
}

c10::IValue InterpreterState::RunToEnd() {
  const Outcome outcome = [this] {
    OnThread on_thread(options_, mode_);
    return Execute();
  }();
  // A call from within another run is part of that.
  if (mode_ && options_.group != nullptr) options_.group->EndRun();
  if (outcome == Outcome::kRaised) std::rethrow_exception(error_);
  return std::move(result_);
}

void InterpreterState::Resume(std::shared_ptr<InterpreterState> state) {
  while (state != nullptr) state = state->ResumeOne();
}

std::shared_ptr<InterpreterState> InterpreterState::ResumeOne() {
  waiting_for_ = nullptr;
  if (!std::exchange(started_, true) && options_.on_start) options_.on_start();
  Outcome outcome;
  std::shared_ptr<InterpreterState> next;
  {
    OnThread on_thread(options_, mode_);
    if (options_.operator_threads > 0) options_.pool->UseOperatorThreads(options_.operator_threads);
    if (future_ != nullptr && entered_.empty()) error_ = options_.group->ReasonToStop();
    outcome = error_ == nullptr ? Execute() : Outcome::kRaised;
    if (outcome != Outcome::kSuspended) {
      if (completion_ != nullptr) outcome = CheckAnswer(outcome);
      if (future_ != nullptr) next = CompleteFuture(outcome);
      Clear();
    }
  }
  if (outcome == Outcome::kSuspended) {
    Group();
    // This state may be running on another thread, or be gone, before Suspend returns.
    const std::shared_ptr<RunGroup> group = options_.group;
    const std::shared_ptr<MemoryAccount> memory = options_.memory;
    const c10::intrusive_ptr<c10::ivalue::Future> future = waiting_for_;
    {
      const MemoryAccount::Scope counted(memory.get());
      group->Suspend(shared_from_this());
    }
    return group->TakeFork(future.get());
  }
  if (completion_ == nullptr) {
    options_.group->EndFork();
    return next;
  }
  // Before the answer is told: whoever has that finds what the run showed.
  options_.samples = nullptr;
  Completion completion = std::move(completion_);
  if (outcome == Outcome::kDone) {
    completion(std::move(result_), nullptr);
  } else {
    completion(c10::IValue(), std::move(error_));
  }
  if (options_.group != nullptr) options_.group->EndRun();
  return nullptr;
}

InterpreterState::Outcome InterpreterState::CheckAnswer(Outcome outcome) {
  if (outcome != Outcome::kDone || !NestsDeeperThan(result_, kMaxAnswerDepth)) return outcome;
  result_ = c10::IValue();  // here, where the stack is large
  const std::string message = "the answer nests more than " + std::to_string(kMaxAnswerDepth) + " levels deep";
  error_ = std::make_exception_ptr(ModelError("RuntimeError", message, message));
  return Outcome::kRaised;
}

std::shared_ptr<InterpreterState> InterpreterState::CompleteFuture(Outcome outcome) {
  const auto future = std::move(future_);
  RunGroup::Successor successor(*options_.group);
  if (outcome == Outcome::kDone) {
    future->markCompleted(std::move(result_));
  } else {
    future->setError(std::move(error_));
  }
  return successor.Take();
}

void InterpreterState::Clear() {
  frames_ = {};
  registers_ = {};
  stack_ = {};
}

RunGroup& InterpreterState::Group() {
  if (options_.group == nullptr) options_.group = RunGroup::Create(options_.token, options_.pool);
  return *options_.group;
}

InterpreterState::Outcome InterpreterState::Execute() {
  const Outcome outcome = ExecuteFrames();
  if (raised_ && outcome != Outcome::kSuspended) RecordException(outcome);
  // What the run gives is still held, should it be of the arena.
  if (outcome != Outcome::kSuspended && arena_ != nullptr) arenas_->Give(std::move(arena_));
  return outcome;
}

void InterpreterState::TakeArena(const Code& code, const Instruction& instruction, const c10::IValue* registers,
                                 const c10::IValue* constants) {
  TORCH_INTERNAL_ASSERT(&code == frames_.front().code, "only a plan's own code has slots");
  std::array<int64_t, kMostArenaNumbers> given{};
  TORCH_INTERNAL_ASSERT(instruction.num_inputs <= given.size());
  const int32_t* operands = code.operands.data() + instruction.operands;
  for (size_t i = 0; i < instruction.num_inputs; ++i) {
    given[i] = (operands[i] >= 0 ? registers[operands[i]] : constants[~operands[i]]).toInt();
  }
  arenas_ = code.arenas.get();
  arena_ = arenas_->Take(std::span(given).first(instruction.num_inputs));
}

InterpreterState::Outcome InterpreterState::ExecuteFrames() {
  for (;;) {
    const Outcome outcome = options_.profile == nullptr ? Loop() : TimedLoop();
    if (outcome != Outcome::kRaised) return outcome;
    const Code* code = frames_.back().code;
    const auto instruction = static_cast<size_t>(frames_.back().pc - code->instructions.data());
    if (MayBailOut() && TryBailOut()) {
      raised_ = {code, instruction, std::exchange(error_, nullptr)};
    } else if (!Unwind()) {
      return outcome;
    }
  }
}

bool InterpreterState::MayBailOut() const {
  if (options_.stays_in_plan) return false;
  const Frame& frame = frames_.back();
  const Bailouts* bailouts = frame.code->bailouts.get();
  if (bailouts == nullptr) return false;
  if (bailouts->state_at[static_cast<size_t>(frame.pc - frame.code->instructions.data())] == Bailouts::kNone) {
    return false;
  }
  try {
    std::rethrow_exception(error_);
  } catch (const CancelledError&) {
    return false;
  } catch (const MemoryLimitError&) {
    return false;
  } catch (const ForkLimitError&) {
    return false;
  } catch (...) {
    return true;
  }
}

bool InterpreterState::TryBailOut() {
  stack_.clear();
  try {
    BailOut();
    return true;
  } catch (const std::bad_alloc&) {
    // Then what failed before is told.
    return false;
  }
}

void InterpreterState::BailOut() {
  Frame& frame = frames_.back();
  const Code& plan = *frame.code;
  const Bailouts& bailouts = *plan.bailouts;
  const auto instruction = static_cast<size_t>(frame.pc - plan.instructions.data());
  const int32_t index = bailouts.state_at[instruction];
  const Bailouts::State& state = bailouts.states[static_cast<size_t>(index)];
  const Code& baseline = *bailouts.baseline;
  const ResumePoint& point = baseline.resume_points[state.point];

  std::vector<c10::IValue> values;
  values.reserve(point.registers.size());
  const int32_t* operands = plan.operands.data() + state.operands;
  for (size_t i = 0; i < point.registers.size(); ++i) {
    values.push_back(operands[i] >= 0 ? registers_[frame.base + static_cast<size_t>(operands[i])]
                                      : plan.constants[static_cast<size_t>(~operands[i])]);
  }
  if (options_.profile != nullptr) options_.profile->AddBailout(WhyItLeaves(plan, instruction));
  // Nothing fails from here on.
  GrowRegisters(frame.base + baseline.num_registers);
  for (size_t i = 0; i < plan.num_registers; ++i) registers_[frame.base + i] = c10::IValue();
  for (size_t i = 0; i < point.registers.size(); ++i) {
    if (point.registers[i] == kNotInRegister) continue;
    registers_[frame.base + static_cast<size_t>(point.registers[i])] = std::move(values[i]);
  }
  if (arena_ != nullptr) arenas_->Leave(std::move(arena_));
  frame.code = &baseline;
  frame.pc = baseline.instructions.data() + point.pc;
  bailouts.record->CountBailout();
}

std::string InterpreterState::WhyItLeaves(const Code& plan, size_t instruction) const {
  const SourceRange& range = plan.origins[instruction].range;
  const std::string place = range.source == nullptr ? "" : " (" + PlaceOf(range) + ")";
  if (error_ != nullptr) {
    return std::string(plan.origins[instruction].kind.toQualString()) + " raised" + place + ": " +
           ExceptionText(error_);
  }
  const auto guard = static_cast<size_t>(plan.instructions[instruction].target);
  const std::string& claim = plan.bailouts->record->guards()[guard].claim;
  return (claim.empty() ? "a guard failed" : "the guard '" + claim + "' failed") + place;
}

void InterpreterState::RecordException(Outcome outcome) const {
  const Bailouts& bailouts = *raised_->plan->bailouts;
  if (outcome == Outcome::kDone) {
    bailouts.record->CountPlanException(*bailouts.nodes[raised_->instruction], raised_->error);
    return;
  }
  try {
    std::rethrow_exception(error_);
  } catch (const ResourceError&) {
    // A limit ended the run: whether the model would have raised is not known.
  } catch (const ModelError&) {
    bailouts.record->CountModelException();
  } catch (...) {
    // Cancelled: nor is it here.
  }
}

bool InterpreterState::Unwind() {
  stack_.clear();
  size_t boundary = frames_.size();
  while (boundary > 0 && !frames_[boundary - 1].future) --boundary;
  const size_t first = boundary > 0 ? boundary - 1 : 0;

  std::exception_ptr error = ReportOf(std::exchange(error_, nullptr), first);
  LeaveWithRegions(first);
  if (boundary == 0) {
    PopFrames(0);
    error_ = std::move(error);
    return false;
  }
  // The fork's caller goes on after the instruction that forked.
  LeaveInlineFork();
  const auto future = std::move(frames_[first].future);
  PopFrames(first);
  ++frames_.back().pc;
  future->setError(std::move(error));
  return true;
}

std::exception_ptr InterpreterState::ReportOf(std::exception_ptr error, size_t first_frame) const {
  // It gets its memory even where the run may have no more.
  MemoryAccount::Scope uncounted(nullptr);
  std::vector<TracebackFrame> traceback;
  for (size_t i = first_frame; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    traceback.push_back({frame.code, static_cast<size_t>(frame.pc - frame.code->instructions.data())});
  }
  return WithTraceback(std::move(error), traceback);
}

void InterpreterState::LeaveWithRegions(size_t down_to_frame) {
  while (!entered_.empty() && entered_.back().frame >= down_to_frame) {
    const c10::IValue manager = std::move(entered_.back().manager);
    entered_.pop_back();
    try {
      torch::jit::Function& exit = manager.toObjectRef().type()->getMethod("__exit__");
      torch::jit::Stack stack = {manager, c10::IValue(), c10::IValue(), c10::IValue()};
      exit.run(stack);
    } catch (const std::exception&) {
      // The exception under way is the one to be told.
    }
  }
}

Mode InterpreterState::ModeForFork() const {
  return Mode::OfThread(options_.stream ? std::optional(options_.stream->device()) : std::nullopt);
}

void InterpreterState::LeaveInlineFork() {
  forked_in_.back().Install();
  forked_in_.pop_back();
}

void InterpreterState::PopFrames(size_t down_to) {
  if (frames_.size() == down_to) return;
  const size_t begin = frames_[down_to].base;
  const size_t end = frames_.back().base + frames_.back().code->num_registers;
  frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(down_to), frames_.end());
  for (size_t i = begin; i < end; ++i) registers_[i] = c10::IValue();
}

int32_t InterpreterState::Safepoint() {
  if (options_.pool != nullptr && options_.operator_threads == 0) options_.pool->ShareProcessors();
  if (options_.token == nullptr && options_.memory == nullptr && options_.group == nullptr) {
    return std::numeric_limits<int32_t>::max() / 2;
  }
  if (options_.token != nullptr) options_.token->Check();
  if (options_.memory != nullptr) options_.memory->Check();
  if (options_.group != nullptr) options_.group->CheckForks();
  return 64;
}

bool InterpreterState::ForksRunElsewhere() const {
  // A synchronous run on one of the pool's own threads cannot wait for the others without holding one of them.
  return options_.pool != nullptr && (waiting_ == Waiting::kSuspends || !options_.pool->OnOwnThread());
}

void InterpreterState::StartFork(std::shared_ptr<const Code> closure, c10::intrusive_ptr<c10::ivalue::Future> future,
                                 std::vector<c10::IValue> captured) {
  Group();
  RunOptions options = options_;
  options.on_start = nullptr;
  std::shared_ptr<InterpreterState> state;
  {
    // The pool, which counts for nobody, will free it.
    MemoryAccount::Scope uncounted(nullptr);
    state = std::make_shared<InterpreterState>(std::move(options), ModeForFork(), Waiting::kSuspends);
  }
  state->Start(*closure, std::move(captured));
  state->SetFuture(std::move(closure), std::move(future));
  options_.group->BeginFork(std::move(state));
}

c10::IValue InterpreterState::MakeAwaitable(std::shared_ptr<const Code> closure, const c10::TypePtr& type,
                                            std::vector<c10::IValue> captured) {
  // An awaitable may outlive the run, in an attribute say, and must not hold what the run holds.
  RunOptions options;
  options.token = options_.token;
  options.memory = options_.memory;
  options.pool = options_.pool;
  options.profile = options_.profile;
  return hearth::MakeAwaitable(type, {std::move(closure), std::move(captured)}, [options](const AwaitableCall& call) {
    InterpreterState state(options, std::nullopt, Waiting::kBlocks);
    state.Start(*call.closure, call.captured);
    return state.RunToEnd();
  });
}

bool InterpreterState::EnterAwaitable(c10::intrusive_ptr<c10::ivalue::Await> awaitable) {
  const AwaitableCall* call = CallOf(*awaitable);
  if (call == nullptr) return false;
  EnterFrame(*call->closure, call->captured);
  frames_.back().awaitable = std::move(awaitable);
  return true;
}

void InterpreterState::BlockOn(c10::ivalue::Future& future) {
  ThreadPool* const pool = options_.pool;
  TORCH_CHECK(pool != nullptr, kWaitsForItself);
  const CancellationToken* const token = options_.token.get();
  Group().WakeAtTheDeadline();
  future.addCallback([pool](c10::ivalue::Future&) { pool->Wake(); });
  const auto done = [&] { return future.completed() || (token != nullptr && token->ShouldStop()); };
  if (pool->OnOwnThread()) {
    pool->HelpUntil(done);
  } else {
    pool->SleepUntil(done);
  }
  if (!future.completed()) token->Check();
}

}  // namespace hearth
