// Operators that pick elements of a tensor along one of its dimensions by the numbers in another tensor, the ids:
// embedding, index_select, index by one tensor, gather, take_along_dim. A fused kernel reads the elements where they
// are: on a CPU once its call has looked at all ids (fuser/runtime/kernel_signature.h), on a GPU it looks at each
// itself and ends as LibTorch's do where one is out of range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/definitions/fact_rules.h"

namespace hearth {

// What ids may be, of n elements.
enum class IdRange : uint8_t {
  kWithin,   // from 0 to n - 1
  kFromEnd,  // also from -n to -1, which count from the end
  kAny,      // the remainder of their division by n counts
};

struct Gather {
  const Value* tensor;
  const Value* ids;
  size_t dimension;               // of the tensor
  std::vector<size_t> of_tensor;  // which of the result's dimensions each of the tensor's is; of `dimension` any
  std::vector<size_t> of_ids;     // which of them each of the ids' is
  IdRange range = IdRange::kWithin;
};

// Rules (definition.h). The sizes of both tensors along the other dimensions are the result's, or 1. Null where a
// kernel cannot.
namespace gather {

std::optional<Gather> ByEmbedding(const Call& call);
std::optional<Gather> ByIndex(const Call& call);
std::optional<Gather> ByIndexSelect(const Call& call);
std::optional<Gather> ByGather(const Call& call);
std::optional<Gather> ByTakeAlongDim(const Call& call);

}  // namespace gather
}  // namespace hearth
