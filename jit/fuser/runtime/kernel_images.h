// What the helper made for one table of kernels, for those of other GPUs of the same architecture in the process: each
// loads the code onto its own, and none asks the helper for what another has asked it for.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "jit/fuser/image/kernel_image.h"

namespace hearth::fuser {

// Thread-safe. As many as there are kernels, which nobody forgets either.
class KernelImages {
 public:
  void Put(const std::string& text, std::shared_ptr<const KernelImage> image) {
    const std::lock_guard lock(mutex_);
    images_[text] = std::move(image);
  }
  // It gave wrong results.
  void Remove(const std::string& text) {
    const std::lock_guard lock(mutex_);
    images_.erase(text);
  }
  // Null: there is none.
  std::shared_ptr<const KernelImage> Find(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    const auto found = images_.find(text);
    return found == images_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const KernelImage>> images_;
};

}  // namespace hearth::fuser
