// The values of a batch: which calls may be run as one, their arguments as the arguments of one, and its answer as
// theirs. The batch is dimension 0 of every tensor, wherever containers have it; all else is the same in all calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "jit/runtime.h"

namespace hearth::server {

struct CallArguments {
  Arguments args;
  KeywordArguments kwargs;
};

// Calls of one method with equal texts may be run as one: their tensors agree in dtype and in all dimensions but the
// first, and all else is equal.
struct BatchKey {
  std::string text;
  int64_t rows = 0;  // the first dimension of every tensor
};

// Nothing for a call that is run by itself: it has no tensor, or one without rows or with other rows than the first.
std::optional<BatchKey> BatchKeyOf(const CallArguments& call);

// Each tensor in one allocation, to which every call's rows are copied once, and behind them the last row so many times
// more. The calls have equal keys; there is one at least. Throws what LibTorch throws, MemoryLimitError where the
// thread's account has no room.
CallArguments Concatenate(std::span<const CallArguments* const> calls, int64_t padding);

// The parts of an answer that have so many rows each, in order; nothing if some tensor in it has other rows than all
// parts and the padding behind them together. The parts' tensors are views: they share the answer's memory, which is
// freed with the last of them.
std::optional<std::vector<c10::IValue>> Split(const c10::IValue& answer, std::span<const int64_t> rows,
                                              int64_t padding);

// Why calls of the model's method cannot be batched: kInvalidArgument for a method whose arguments or result are not
// tensors, tuples, lists and dicts of tensors (arguments may also be single numbers, bools and strings),
// kInvalidArgument too for one that does something beside answering; the message says what and where.
absl::Status CheckBatches(const Model& model, const c10::FunctionSchema& schema);

}  // namespace hearth::server
