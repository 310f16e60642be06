#include "jit/definitions/channel_constant.h"

namespace hearth {

bool IsPerChannel(const at::Tensor& tensor, int64_t rank, int64_t channels) {
  const int64_t channel_dim = tensor.dim() - (rank - 1);
  if (tensor.dim() > rank || channel_dim < 0) return false;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) != (i == channel_dim ? channels : 1)) return false;
  }
  return true;
}

}  // namespace hearth
