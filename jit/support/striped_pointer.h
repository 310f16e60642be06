// An object that many threads take shared references to at the same time. One std::shared_ptr has one count, whose
// cache line they would all write; here each thread copies a pointer with a count of its own, of which there are as
// many as processors.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "jit/support/thread_number.h"

namespace hearth {

// Holds the object as a shared_ptr does. Thread-safe.
template <typename T>
class StripedPointer {
 public:
  StripedPointer() = default;
  explicit StripedPointer(const std::shared_ptr<T>& object) : object_(object) {
    for (unsigned i = 0; i < Stripes(); ++i) stripes_.emplace_back(object.get(), Keeper{object});
  }

  // For the calling thread, whose number tells it from others. The object lives as long as any of these.
  const std::shared_ptr<T>& Reference(size_t thread = NumberOfThread<StripedPointer>()) const {
    return stripes_[thread & (stripes_.size() - 1)];
  }
  const std::shared_ptr<T>& object() const { return object_; }
  // What one takes, about.
  static size_t bytes() { return Stripes() * (sizeof(std::shared_ptr<T>) + 2 * sizeof(Keeper)); }
  T* operator->() const { return object_.get(); }
  T& operator*() const { return *object_; }

 private:
  static unsigned Stripes() {
    static const unsigned stripes = std::bit_ceil(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
    return stripes;
  }
  // Lies in the reference count's block, and gives that a cache line of its own.
  struct alignas(64) Keeper {
    std::shared_ptr<T> object;
    void operator()(T*) { object.reset(); }
  };

  std::shared_ptr<T> object_;
  std::vector<std::shared_ptr<T>> stripes_;
};

}  // namespace hearth
