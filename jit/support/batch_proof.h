// Whether calls of a method may be run as one, their tensors put together along dimension 0: what is asked and
// answered.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

// What is known of an argument of the calls.
struct BatchArgument {
  bool absent = false;  // it is never given, and has its default
  // Of a tensor: its sizes, of which the first is the batch; -1 for those that may be any. Nothing: not known.
  std::optional<std::vector<int64_t>> sizes = {};
  std::optional<c10::ScalarType> dtype = {};
};

struct BatchProof {
  enum class Verdict : uint8_t {
    kUnknown,      // neither is proved
    kIndependent,  // the rows of an answer's tensors are along dimension 0, and each is what its own call gives
    kDependent,    // some rows depend on others, or are not along dimension 0
  };
  Verdict verdict = Verdict::kUnknown;
  // For people: "rows are independent", "rows mix: aten::softmax at model.py:12 is taken over all rows".
  std::string text = {};
};

}  // namespace hearth
