// Functions and types of CUDA C++ that a source defines for itself, since it includes nothing: vectors, f16 and bf16,
// integers and floats as the loop IR has them, reductions of a warp's or a block's threads. The list of them is in
// cuda_functions.cpp.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace hearth::fuser {

// Those that a source uses.
class CudaFunctions {
 public:
  // Adds a function of the list with those that it calls, and gives its name.
  std::string_view Use(std::string_view name);
  // The definitions of all that were added, each after those that it calls.
  std::string Definitions() const;

 private:
  std::set<size_t> used_;
};

}  // namespace hearth::fuser
