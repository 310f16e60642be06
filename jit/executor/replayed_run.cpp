#include "jit/executor/replayed_run.h"

#include <exception>
#include <optional>
#include <utility>

#include "jit/executor/captured_plan.h"
#include "jit/interpreter/thread_pool.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

std::optional<c10::IValue> TryReplay(const ReplayedRun& run) {
  const MemoryAccount::Scope memory(run.options.memory.get());
  if (run.options.token != nullptr) run.options.token->Check();
  return run.plan->captured()->Replay(run.arguments, *run.options.stream);
}

void Begin(ReplayedRun run, const Completion& completion) {
  if (run.options.on_start) run.options.on_start();
  std::optional<c10::IValue> answer;
  try {
    answer = TryReplay(run);
  } catch (...) {
    return completion(c10::IValue(), std::current_exception());
  }
  if (answer) return completion(*std::move(answer), nullptr);
  run.options.on_start = nullptr;
  run.options.begin_here = true;
  RunAsync(std::move(run.code), std::move(run.arguments), std::move(run.options), completion);
}

}  // namespace

void ReplayAsync(ReplayedRun run, Completion completion) {
  if (run.options.begin_here) return Begin(std::move(run), completion);
  ThreadPool* const pool = run.options.pool;
  pool->Post(
      [run = std::move(run), completion = std::move(completion)]() mutable { Begin(std::move(run), completion); });
}

}  // namespace hearth
