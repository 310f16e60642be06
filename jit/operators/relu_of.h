// relu of one number, as LibTorch has it.
#pragma once

#include <bit>
#include <cstdint>

namespace hearth::native {

// Keeps nan and -0. Without a branch: signs are not to be foreseen, and one that was foreseen wrongly takes as long as
// dozens of elements.
inline float ReluOf(float a) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & (static_cast<uint32_t>(a < 0) - 1));
}

}  // namespace hearth::native
