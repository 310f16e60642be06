// The values of a batch: which calls may be run as one, their arguments as the arguments of one, and its answer as
// theirs. The batch is dimension 0 of every tensor, wherever containers have it; all else is the same in all calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "server/repository/batch_padding.h"
#include "server/scheduling/call_arguments.h"

namespace hearth::server {

// Calls of one method with equal texts may be run as one: their tensors agree in dtype and in all dimensions but the
// first and those that are padded, and all else is equal.
struct BatchKey {
  std::string text;
  int64_t rows = 0;              // the first dimension of every tensor
  std::vector<int64_t> lengths;  // by entry of BatchPadding::inputs; 0 of what the call has not
};

// Nothing for a call that is run by itself: it has no tensor, or one without rows or with other rows than the first.
std::optional<BatchKey> BatchKeyOf(const CallArguments& call, const BatchPadding& lengths = {});

// Each tensor in one allocation, by `make` where that gives some, to which every call's rows are copied once, and
// behind them the last row so many times more; those of `lengths` padded to the lengths `to`. The calls have keys with
// equal texts; there is one at least. Throws what LibTorch throws, MemoryLimitError where the thread's account has no
// room.
CallArguments Concatenate(std::span<const CallArguments* const> calls, int64_t padding, const NewLockedTensor& make,
                          const BatchPadding& lengths = {}, std::span<const int64_t> to = {});

// The parts of an answer that have so many rows each, in order; nothing if some tensor in it has other rows than all
// parts and the padding behind them together. The parts' tensors are views: they share the answer's memory, which is
// freed with the last of them.
std::optional<std::vector<c10::IValue>> Split(const c10::IValue& answer, std::span<const int64_t> rows,
                                              int64_t padding);

// Answers as one, with their tensors one behind the other along dimension 0. They have rows. Throws what LibTorch
// throws, and where answers are not alike.
c10::IValue JoinAnswers(std::span<const c10::IValue> answers);

// How the calls of the model's method may be batched, for people: its rows are proved to be independent, or declared to
// be. kInvalidArgument for a method whose arguments or result are not tensors, tuples, lists and dicts of tensors
// (arguments may also be single numbers, bools and strings), for one that does something beside answering, and for one
// whose rows are proved to mix, or not to be along dimension 0; the message says what and where. `arguments` is as
// Model::ProveBatch takes it.
absl::StatusOr<std::string> CheckBatches(const Model& model, const c10::FunctionSchema& schema,
                                         std::span<const BatchArgument> arguments);

}  // namespace hearth::server
