// Deep copies of arguments, for a second run that must not see what the first one writes.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace hearth {

// What shares memory among the values, be it tensors of one storage or a container met twice, does so among the copies;
// tensors keep their strides. On a GPU the copying is asked of the current stream. Null where something cannot be
// copied (an object, a sparse tensor, one that records gradients), or the tensors' storages take more than `max_bytes`.
std::optional<std::vector<c10::IValue>> CopyDeep(std::span<const c10::IValue> values, size_t max_bytes);

}  // namespace hearth
