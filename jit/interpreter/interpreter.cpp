#include "jit/interpreter/interpreter.h"

#include <utility>

#include "jit/interpreter/call.h"
#include "jit/interpreter/state.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/support/errors.h"

namespace hearth {

void SetCode(Function& function, std::shared_ptr<const Code> code) {
  function.SetExecutable(std::make_unique<CodeExecutable>(std::move(code)));
}

std::shared_ptr<const Code> CodeOf(const torch::jit::Function& function) {
  const auto* own = dynamic_cast<const Function*>(&function);
  if (own == nullptr) return nullptr;
  const auto* executable = dynamic_cast<const CodeExecutable*>(own->executable());
  return executable != nullptr ? executable->code() : nullptr;
}

void CodeExecutable::Run(torch::jit::Stack& stack) {
  std::vector<c10::IValue> arguments;
  arguments.reserve(code_->num_inputs);
  TORCH_CHECK(stack.size() >= code_->num_inputs, code_->function_name, " takes ", code_->num_inputs,
              " arguments but got ", stack.size());
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(code_->num_inputs);
  arguments.insert(arguments.end(), std::make_move_iterator(first), std::make_move_iterator(stack.end()));
  stack.erase(first, stack.end());

  const RunOptions* caller = InterpreterState::CurrentOptions();
  std::optional<Mode> mode;
  if (caller == nullptr) mode = Mode::WithoutGradients();
  InterpreterState state(caller != nullptr ? *caller : RunOptions(), std::move(mode),
                         InterpreterState::Waiting::kBlocks);
  state.Start(*code_, std::move(arguments));
  stack.push_back(state.RunToEnd());
}

namespace {

Mode ModeOf(const RunOptions& options) {
  Mode mode = options.gradients ? Mode::OfThread() : Mode::WithoutGradients();
  mode.stream = options.stream;
  return mode;
}

}  // namespace

c10::IValue Run(const Code& code, std::vector<c10::IValue> arguments, const RunOptions& options) {
  InterpreterState state(options, ModeOf(options), InterpreterState::Waiting::kBlocks);
  state.Start(code, std::move(arguments));
  if (options.on_start) options.on_start();
  return state.RunToEnd();
}

void RunAsync(std::shared_ptr<const Code> code, std::vector<c10::IValue> arguments, RunOptions options,
              Completion completion) {
  TORCH_CHECK(options.pool != nullptr, "an asynchronous run needs a pool");
  ThreadPool* const pool = options.pool;
  const bool begin_here = options.begin_here;
  const Mode mode = ModeOf(options);
  auto state = std::make_shared<InterpreterState>(std::move(options), mode, InterpreterState::Waiting::kSuspends);
  const Code& entry = *code;
  state->Start(entry, std::move(arguments));
  state->SetCompletion(std::move(code), std::move(completion));
  if (begin_here) return InterpreterState::Resume(std::move(state));
  pool->Post([state = std::move(state)]() mutable { InterpreterState::Resume(std::move(state)); });
}

}  // namespace hearth
