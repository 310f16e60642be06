#include "jit/interpreter/state.h"

#include <limits>
#include <utility>

#include "jit/interpreter/thread_pool.h"
#include "jit/interpreter/traceback.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

thread_local const RunOptions* current_options = nullptr;

// While a run is on a thread: its options are the thread's, and its mode, if it has one of its own.
class OnThread {
 public:
  OnThread(const RunOptions& options, std::optional<Mode>& mode)
      : mode_(mode), saved_options_(std::exchange(current_options, &options)) {
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
};

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

c10::IValue InterpreterState::RunToEnd() {
  OnThread on_thread(options_, mode_);
  if (Execute() == Outcome::kRaised) std::rethrow_exception(error_);
  return std::move(result_);
}

void InterpreterState::Resume() {
  if (!std::exchange(started_, true) && options_.on_start) options_.on_start();
  Outcome outcome;
  {
    OnThread on_thread(options_, mode_);
    outcome = Execute();
  }
  if (outcome == Outcome::kSuspended) {
    // From the moment the callback is known this state may be running on another thread.
    auto future = std::move(waiting_for_);
    future->addCallback([self = shared_from_this()](c10::ivalue::Future&) {
      ThreadPool* pool = self->options_.pool;
      pool->Post([self] { self->Resume(); });
    });
    return;
  }
  Completion completion = std::move(completion_);
  if (outcome == Outcome::kDone) {
    completion(std::move(result_), nullptr);
  } else {
    completion(c10::IValue(), std::move(error_));
  }
}

InterpreterState::Outcome InterpreterState::Execute() {
  for (;;) {
    const Outcome outcome = Loop();
    if (outcome != Outcome::kRaised) return outcome;
    if (!Unwind()) return outcome;
  }
}

bool InterpreterState::Unwind() {
  stack_.clear();
  size_t boundary = frames_.size();
  while (boundary > 0 && !frames_[boundary - 1].future) --boundary;
  const size_t first = boundary > 0 ? boundary - 1 : 0;

  std::vector<TracebackFrame> traceback;
  for (size_t i = first; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    traceback.push_back({frame.code, static_cast<size_t>(frame.pc - frame.code->instructions.data())});
  }
  std::exception_ptr error = WithTraceback(std::exchange(error_, nullptr), traceback);
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
  if (options_.token == nullptr) return std::numeric_limits<int32_t>::max() / 2;
  options_.token->Check();
  return 64;
}

bool InterpreterState::ForksRunElsewhere() const {
  // A synchronous run on one of the pool's own threads cannot wait for the others without holding one of them.
  return options_.pool != nullptr && (waiting_ == Waiting::kSuspends || !options_.pool->OnOwnThread());
}

void InterpreterState::StartFork(std::shared_ptr<const Code> closure, c10::intrusive_ptr<c10::ivalue::Future> future,
                                 std::vector<c10::IValue> captured) {
  RunOptions options = options_;
  options.on_start = nullptr;
  auto state = std::make_shared<InterpreterState>(std::move(options), ModeForFork(), Waiting::kSuspends);
  state->Start(*closure, std::move(captured));
  state->SetCompletion(std::move(closure), [future = std::move(future)](c10::IValue value, std::exception_ptr error) {
    if (error) {
      future->setError(std::move(error));
    } else {
      future->markCompleted(std::move(value));
    }
  });
  options_.pool->Post([state = std::move(state)] { state->Resume(); });
}

c10::IValue InterpreterState::MakeAwaitable(std::shared_ptr<const Code> closure, const c10::TypePtr& type,
                                            std::vector<c10::IValue> captured) {
  RunOptions kept = options_;
  // It may outlive this run, which must not hold its turn for so long.
  kept.turn = nullptr;
  return c10::make_intrusive<c10::ivalue::Await>(
      type, [closure = std::move(closure), captured = std::move(captured), options = std::move(kept)]() -> c10::IValue {
        InterpreterState state(options, std::nullopt, Waiting::kBlocks);
        state.Start(*closure, captured);
        return state.RunToEnd();
      });
}

void InterpreterState::BlockOn(c10::ivalue::Future& future) {
  if (options_.pool == nullptr || !options_.pool->OnOwnThread()) {
    future.wait();
    return;
  }
  ThreadPool* pool = options_.pool;
  future.addCallback([pool](c10::ivalue::Future&) { pool->Wake(); });
  pool->HelpUntil([&future] { return future.completed(); });
}

}  // namespace hearth
