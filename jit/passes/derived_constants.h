// Tensors that plans compute from a model's weights while they are made. The plans of a model share them: each is made
// once, however many specs there are.
//
// Thread-safe. What is made stays until the table goes, and keeps what it was made of alive.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

class DerivedConstants {
 public:
  // `purpose` says all that the result depends on beside `from`, some of which may be undefined. `make` runs under the
  // table's lock.
  std::vector<at::Tensor> Get(const std::string& purpose, const std::vector<at::Tensor>& from,
                              const std::function<std::vector<at::Tensor>()>& make);

  size_t bytes() const;

 private:
  struct Entry {
    std::vector<at::Tensor> from;
    std::vector<at::Tensor> made;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::vector<const void*>>, Entry> entries_;
};

}  // namespace hearth
