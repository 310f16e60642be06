// What a back end throws where it has no code for a kernel on a target.
#pragma once

#include <stdexcept>

namespace hearth::fuser {

// what() names what there is no code for: an operation and its dtype, or a loop.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hearth::fuser
