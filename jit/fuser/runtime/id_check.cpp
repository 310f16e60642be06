#include "jit/fuser/runtime/id_check.h"

#include <c10/util/Exception.h>

namespace hearth::fuser {
namespace {

struct Bounds {
  int64_t least, end;
};

// Adds up what is outside, so that the loop has vectors.
template <typename T>
int64_t CountOutside(const T* ids, int64_t count, int64_t stride, Bounds bounds) {
  const auto is_outside = [bounds](int64_t id) {
    return static_cast<int64_t>((id < bounds.least) | (id >= bounds.end));
  };
  int64_t outside = 0;
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) outside += is_outside(ids[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) outside += is_outside(ids[i * stride]);
  }
  return outside;
}

template <typename T>
bool AreInside(const T* ids, at::IntArrayRef sizes, at::IntArrayRef strides, Bounds bounds) {
  if (sizes.empty()) return CountOutside(ids, 1, 1, bounds) == 0;
  // What is expanded is one element.
  const int64_t count = strides[0] == 0 && sizes[0] > 0 ? 1 : sizes[0];
  if (sizes.size() == 1) return CountOutside(ids, count, strides[0], bounds) == 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!AreInside(ids + i * strides[0], sizes.slice(1), strides.slice(1), bounds)) return false;
  }
  return true;
}

template <typename T>
bool AreInside(const at::Tensor& ids, Bounds bounds) {
  const T* first = ids.const_data_ptr<T>();
  if (ids.is_contiguous()) return CountOutside(first, ids.numel(), 1, bounds) == 0;
  return AreInside(first, ids.sizes(), ids.strides(), bounds);
}

}  // namespace

void CheckIds(const at::Tensor& ids, int64_t size, bool from_end) {
  const Bounds bounds = {from_end ? -size : 0, size};
  const bool are_inside =
      ids.scalar_type() == at::kInt ? AreInside<int32_t>(ids, bounds) : AreInside<int64_t>(ids, bounds);
  TORCH_CHECK_INDEX(are_inside, "a fused kernel is given an id out of range of ", size, " elements");
}

}  // namespace hearth::fuser
