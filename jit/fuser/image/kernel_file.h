// What is kept on disk of one kernel: its machine code, or why there is none.
//
//   "HEARTHKF"   format (4 bytes)   1 with an image, 0 without (4)
//   the key, what the file belongs to; the kernel's text; the image or the reason: each with its length (4) before it
//   a checksum of all that (8)
//
// All little-endian. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/fuser/image/kernel_image.h"

namespace hearth::fuser {

struct KernelFile {
  std::string key;                   // what made the code, and for which processor
  std::string text;                  // the kernel's loop IR
  std::optional<KernelImage> image;  // of that kernel
  std::string reason;                // where there is no image

  bool operator==(const KernelFile&) const = default;
};

// A larger one is not read.
inline constexpr size_t kMaxKernelFileBytes = size_t{80} << 20;

std::string SerializeKernelFile(const KernelFile& file);
// Trusts nothing: throws ImageError for all that SerializeKernelFile did not write, an image of another kernel
// included.
KernelFile ParseKernelFile(std::string_view bytes);

}  // namespace hearth::fuser
