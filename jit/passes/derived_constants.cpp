#include "jit/passes/derived_constants.h"

namespace hearth {

std::vector<at::Tensor> DerivedConstants::Get(const std::string& purpose, const std::vector<at::Tensor>& from,
                                              const std::function<std::vector<at::Tensor>()>& make) {
  std::vector<const void*> identities;
  for (const at::Tensor& tensor : from) identities.push_back(tensor.unsafeGetTensorImpl());
  const std::lock_guard lock(mutex_);
  auto key = std::pair(purpose, std::move(identities));
  auto found = entries_.find(key);
  if (found == entries_.end()) found = entries_.emplace(std::move(key), Entry{from, make()}).first;
  return found->second.made;
}

size_t DerivedConstants::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) {
    for (const at::Tensor& tensor : entry.made) bytes += tensor.nbytes();
  }
  return bytes;
}

}  // namespace hearth
