// Runs Code. One InterpreterState a run: its frames and registers are data, so a run may stop at a wait, leave its
// thread, and go on later on another.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Stream.h>

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/analysis/liveness.h"
#include "jit/interpreter/cancellation.h"
#include "jit/ir/graph.h"
#include "jit/module/function.h"
#include "jit/support/memory_account.h"

namespace hearth {

class Code;
class RunGroup;
class RunProfile;
class RunSamples;
class ThreadPool;

// Register code of a finished Graph, with everything decided that can be decided beforehand. Immutable; thread-safe.
// Holds copies of the Graph's constants, nothing of the Graph itself; source ranges and Functions belong to the
// CompilationUnit, which the caller keeps alive.
std::shared_ptr<const Code> CompileCode(const Graph& graph, std::string function_name);

// The same with a resume point for each of `places`, where runs of plans (plan_executable.h) may be taken up.
std::shared_ptr<const Code> CompileResumable(const Graph& graph, std::string function_name,
                                             std::span<const ResumePlace> places);

// What gives a Function its Code: sets function's Executable. Nested calls find the callee's Code through it.
void SetCode(Function& function, std::shared_ptr<const Code> code);
// Null if none was set.
std::shared_ptr<const Code> CodeOf(const torch::jit::Function& function);
// Readable listing, an instruction a line.
std::string DumpCode(const Code& code);

// A run's place among the other runs of its model. Where Code says (prim::StateStep), the run takes up and gives back
// parts of the model's state; the turn ends with the last reference to it, which the run and its forks hold.
class StateTurn {
 public:
  virtual ~StateTurn() = default;
  // Gives back what `step` does not need any more and asks for what it needs. Null if the run may go on, else what
  // completes as soon as it may. Must not throw.
  virtual c10::intrusive_ptr<c10::ivalue::Future> Take(size_t step) = 0;
};

// Runs have gradients off unless `gradients` says otherwise: the same numbers, no autograd graph, and less to do for
// each operator. Code that switches them on (torch.enable_grad) is obeyed for the rest of its run; the thread's own
// mode is untouched. Random numbers come from the process's generators, as in LibTorch.
struct RunOptions {
  std::shared_ptr<CancellationToken> token;  // may be null
  ThreadPool* pool = nullptr;                // where forks and resumed waits go on; null: a fork runs where it is made
  std::shared_ptr<MemoryAccount> memory;     // on the thread while the run or a fork of it is; null: no limit
  std::array<std::shared_ptr<const void>, 2> keep_alive;  // held until the run and its forks have ended
  std::shared_ptr<StateTurn> turn;                        // null: the run never waits for others
  // Called once on the pool thread that takes the run up, before its first instruction; may be empty. Must not throw.
  std::function<void()> on_start;
  // RunAsync begins the run on the calling thread, which has it and those of its forks that no other has taken until it
  // ends or waits for another thread, instead of handing it to the pool: two switches of threads less, for runs that
  // take less than those.
  bool begin_here = false;
  // What the run shares with its forks; made when there is need for it.
  std::shared_ptr<RunGroup> group;
  // Whether the run has the calling thread's gradient mode instead of none.
  bool gradients = false;
  // Where the work of the run and its forks goes on a GPU; null: where the thread's goes. Nobody waits for it: a run
  // has ended when it has asked for everything.
  std::optional<c10::Stream> stream;
  // How many threads each operator has that the run and its forks call on threads of the pool; 0: as
  // ThreadPool::ShareProcessors says.
  int operator_threads = 0;
  // What raises in a plan fails the run, though the plan's baseline may not raise: for recordings, in which nothing can
  // be tried again.
  bool stays_in_plan = false;
  // For tests: the guard of the plan with this number fails when it is reached, whatever it guards. Negative: none.
  int32_t failing_guard = -1;
  // Told what the run and its forks do, which takes its time; null: nobody asks.
  std::shared_ptr<RunProfile> profile;
  // Told what prim::Observe nodes see; null: nobody asks.
  std::shared_ptr<RunSamples> samples;
};

// Runs to the end on this thread. Throws ModelError (with traceback; a ResourceError where a limit was passed) or
// CancelledError.
c10::IValue Run(const Code& code, std::vector<c10::IValue> arguments, const RunOptions& options = {});

// Starts on `options.pool` and returns; the completion runs once on a pool thread (with begin_here perhaps on this one,
// before this returns), with the answer or an exception.
using Completion = std::function<void(c10::IValue value, std::exception_ptr error)>;
void RunAsync(std::shared_ptr<const Code> code, std::vector<c10::IValue> arguments, RunOptions options,
              Completion completion);

}  // namespace hearth
