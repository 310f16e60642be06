// One run of Code: a stack of frames over one array of registers, all of it data, so that a run may leave its thread at
// a wait and go on later on another one.
//
// A state is used by one thread at a time. It ends by calling its completion once, or, where it suspends, is kept alive
// by the future that it waits for.
#pragma once

#include <ATen/core/ivalue.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "jit/interpreter/code.h"
#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/mode.h"

namespace hearth {

class InterpreterState : public std::enable_shared_from_this<InterpreterState> {
 public:
  // May it suspend? A synchronous run blocks its thread at a wait instead.
  enum class Waiting { kSuspends, kBlocks };

  // Without a mode of its own the run shares its thread's, as a call from within another run does.
  InterpreterState(RunOptions options, std::optional<Mode> mode, Waiting waiting);
  ~InterpreterState();
  InterpreterState(const InterpreterState&) = delete;
  InterpreterState& operator=(const InterpreterState&) = delete;

  // Sets the first frame up. Throws if the number of arguments is wrong.
  void Start(const Code& code, std::vector<c10::IValue> arguments);
  // Who has the answer when the run ends without a thread waiting for it: the completion of a run, the future of a
  // fork.
  void SetCompletion(std::shared_ptr<const Code> code, Completion completion);
  void SetFuture(std::shared_ptr<const Code> code, c10::intrusive_ptr<c10::ivalue::Future> future);

  // Runs to the end on this thread; the answer, or throws.
  c10::IValue RunToEnd();
  // Runs it until it ends or suspends; tells the completion or the future if it ended. Then this thread goes on with
  // what of the run there is to go on with: the fork that the state waits for, or who has waited for this fork.
  static void Resume(std::shared_ptr<InterpreterState> state);

  // Of a fork: what it will complete; else null.
  const c10::intrusive_ptr<c10::ivalue::Future>& future() const { return future_; }
  // Of a suspended state: what it waits for.
  const c10::intrusive_ptr<c10::ivalue::Future>& waiting_for() const { return waiting_for_; }
  // The wait at which the state is suspended fails when the state goes on, since nothing will complete its future.
  void FailTheWait() { wait_fails_ = true; }

  // The options of the state that runs on this thread; null outside of runs. Synchronous calls from LibTorch back into
  // a model take the token from it.
  static const RunOptions* CurrentOptions();

 private:
  enum class Outcome { kDone, kSuspended, kRaised };

  struct Frame {
    const Code* code;
    const Instruction* pc;  // the call under way; for the innermost frame, what runs next
    size_t base;            // of its registers
    // A fork that runs inline, whose result goes to this future instead of the caller's register; else null.
    c10::intrusive_ptr<c10::ivalue::Future> future;
    // What keeps the result beside, if it is an awaitable's function that runs; else null.
    c10::intrusive_ptr<c10::ivalue::Await> awaitable;
  };
  struct Entered {
    size_t frame;
    c10::IValue manager;
  };

  // Resume, but gives what to resume next; null where that is nothing.
  std::shared_ptr<InterpreterState> ResumeOne();
  // The dispatch loop (loop.h), and the one that tells options_.profile.
  Outcome Loop();
  Outcome TimedLoop();
  template <typename Timer>
  Outcome LoopWith(Timer timer);
  // Loop, and what follows from exceptions: unwinding to an inline fork, or the end.
  Outcome Execute();
  Outcome ExecuteFrames();
  // The memory for the slots of `code`, which is a plan's and thus the code of the run's first frame.
  void TakeArena(const Code& code, const Instruction& instruction, const c10::IValue* registers,
                 const c10::IValue* constants);
  // Whether what just raised was a plan's code that the baseline can do once more: if it is the model's failure, that
  // will raise it. A run that was told to stop, or has used up what it may have, does not begin anything again.
  bool MayBailOut() const;
  // BailOut after an exception; false if there is no memory for it, and then nothing has changed.
  bool TryBailOut();
  // The innermost frame, which is in a plan's code where a FrameState holds, goes on in the baseline from there.
  void BailOut();
  // Why it does so at that instruction, in words: for error_, or for the guard there.
  std::string WhyItLeaves(const Code& plan, size_t instruction) const;
  // Counts the exception for which the run left its plan, now that it has ended.
  void RecordException(Outcome outcome) const;
  // Turns error_ into a ModelError and takes frames off down to the innermost inline fork or all of them. Whether the
  // run goes on.
  bool Unwind();
  // The error with the traceback of the frames from `first_frame` on.
  std::exception_ptr ReportOf(std::exception_ptr error, size_t first_frame) const;
  void LeaveWithRegions(size_t down_to_frame);
  // What a fork begins with, and its parent goes on with: the thread's mode now.
  Mode ModeForFork() const;
  void LeaveInlineFork();
  // Frames off, with what their registers hold.
  void PopFrames(size_t down_to);

  // A call through an interface, or a fork. Whether there is a new innermost frame to go on with.
  bool EnterInterfaceCall(const Instruction& instruction, c10::IValue* registers, const c10::IValue* constants,
                          const int32_t* operands);
  // A wait for an awaitable whose function has not run. Whether there is a new innermost frame that runs it.
  bool EnterAwaitable(c10::intrusive_ptr<c10::ivalue::Await> awaitable);
  bool EnterFork(const Instruction& instruction, c10::IValue* registers, const c10::IValue* constants,
                 const int32_t* operands);
  void EnterFrame(const Code& code, std::vector<c10::IValue> arguments);
  void PushFrame(const Code& code, size_t base);
  void GrowRegisters(size_t wanted);
  void ExecutePlaced(const Instruction& instruction, c10::IValue* registers, const c10::IValue* constants,
                     const int32_t* operands);
  void ExecuteBoxed(const Instruction& instruction, c10::IValue* registers, const c10::IValue* constants,
                    const int32_t* operands);
  void CallForeign(torch::jit::Function& function, const Instruction& instruction, c10::IValue* registers,
                   const c10::IValue* constants, const int32_t* operands);
  std::vector<c10::IValue> TakeInputs(const Instruction& instruction, c10::IValue* registers,
                                      const c10::IValue* constants, const int32_t* operands);
  c10::IValue MakeAwaitable(std::shared_ptr<const Code> closure, const c10::TypePtr& type,
                            std::vector<c10::IValue> captured);
  void StartFork(std::shared_ptr<const Code> closure, c10::intrusive_ptr<c10::ivalue::Future> future,
                 std::vector<c10::IValue> captured);
  bool ForksRunElsewhere() const;
  // Blocks until it is complete, doing other work of the pool meanwhile where this is one of its threads. Throws
  // CancelledError if the run is to stop before.
  void BlockOn(c10::ivalue::Future& future);
  RunGroup& Group();
  // An answer that nests too deeply for who takes it is an error.
  Outcome CheckAnswer(Outcome outcome);
  // Gives what waited for it, to be resumed.
  std::shared_ptr<InterpreterState> CompleteFuture(Outcome outcome);
  // Gives back what frames and registers hold.
  void Clear();
  // Asks the token; gives the fuel until the next time.
  int32_t Safepoint();

  RunOptions options_;
  std::optional<Mode> mode_;
  Waiting waiting_;
  std::vector<Frame> frames_;
  std::vector<c10::IValue> registers_;
  std::vector<Entered> entered_;
  std::vector<Mode> forked_in_;  // of each fork that runs inline: the mode to go back to at its end
  torch::jit::Stack stack_;      // for boxed calls
  std::shared_ptr<const Code> code_;
  std::unique_ptr<Arena> arena_;    // of the code
  const Arenas* arenas_ = nullptr;  // where it goes back to
  // Of a plan that went back to the baseline for an exception: what threw it.
  struct Raised {
    const Code* plan;
    size_t instruction;
    std::exception_ptr error;
  };
  std::optional<Raised> raised_;
  c10::IValue result_;
  std::exception_ptr error_;
  c10::intrusive_ptr<c10::ivalue::Future> waiting_for_;
  c10::intrusive_ptr<c10::ivalue::Future> turn_;  // what the StateStep where the run stands was told to wait for
  bool wait_fails_ = false;
  bool started_ = false;
  Completion completion_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace hearth
