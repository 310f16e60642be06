// Awaitables as the interpreter makes them: LibTorch's ivalue::Await, with what its function is where the interpreter
// finds it again, so that it runs as a frame of the run that waits and may itself wait.
//
// As in LibTorch, the function runs at the first wait, and again at the next one if it raised; two runs that wait for
// one awaitable at the same time are the model's own race.
#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <vector>

#include "jit/interpreter/code.h"

namespace hearth {

struct AwaitableCall {
  std::shared_ptr<const Code> closure;
  std::vector<c10::IValue> captured;
};

// `run` serves waits that LibTorch's own code does.
c10::IValue MakeAwaitable(const c10::TypePtr& type, AwaitableCall call,
                          std::function<c10::IValue(const AwaitableCall&)> run);
// What it will run; null if it has run, or is not one of ours.
const AwaitableCall* CallOf(c10::ivalue::Await& awaitable);
// It has run: nothing of the call is kept.
void Complete(c10::ivalue::Await& awaitable, c10::IValue value);

}  // namespace hearth
