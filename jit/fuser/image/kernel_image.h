// A kernel as machine code: one block of bytes that runs wherever it is mapped, and where in it the functions begin.
// Code and the constants that it reads are in the block together; nothing in it refers to anything outside of it.
//
// The functions follow the System V ABI of x86-64 and may be called by several threads at once:
//
// The loops at the top are the image's: the compiler may join rounds of the kernel's, or leave out a loop that does
// nothing. There are as many as `loop_entries`, to be run one after the other.
//
//   void sizes(const int64_t* symbols, int64_t* out);
//     For each loop at the top, in order:
//       out[3k]      its number of rounds, 0 if that is negative
//       out[3k + 1]  an estimate of one round's work in scalar operations, at least 1
//       out[3k + 2]  how many bytes of scratch one thread needs
//
//   void loop_k(void* const* buffers, const int64_t* symbols, int64_t begin, int64_t end, void* scratch);
//     Rounds [begin, end) of loop k at the top; none if begin is not less than end.
//       buffers   the memory of the inputs, then of the outputs, each aligned as its elements are
//       symbols   the kernel's symbols; an f64 as its bits
//       scratch   memory for local buffers that no other thread uses meanwhile, aligned to 64 bytes
//
// As bytes (little-endian): the magic, version, lengths, kernel hash, entries, target, block, then a checksum of all of
// it. What is read comes from a helper process or a disk: ParseKernelImage takes any bytes and throws ImageError unless
// the layout is right and the checksum fits. That does not make code from a stranger safe to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::fuser {

class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using SizesFunction = void (*)(const int64_t* symbols, int64_t* out);
using LoopFunction = void (*)(void* const* buffers, const int64_t* symbols, int64_t begin, int64_t end, void* scratch);

// What `sizes` writes for each loop, and where.
inline constexpr size_t kSizesPerLoop = 3;

inline constexpr size_t kBlockAlignment = 64;
inline constexpr size_t kMaxBlockBytes = size_t{64} << 20;
inline constexpr size_t kMaxTargetBytes = 4096;
inline constexpr size_t kMaxTopLoops = size_t{1} << 16;

struct KernelImage {
  std::string target;        // the processor that the code is for, as HostTarget's text
  uint64_t kernel_hash = 0;  // HashOf the kernel's text
  uint32_t sizes_entry = 0;  // offsets in the block
  std::vector<uint32_t> loop_entries;
  std::string block;  // its first byte is to be aligned to kBlockAlignment

  bool operator==(const KernelImage&) const = default;
};

std::string SerializeKernelImage(const KernelImage& image);
KernelImage ParseKernelImage(std::string_view bytes);

// FNV-1a of 64 bits: against accidents, not against intent.
uint64_t HashOf(std::string_view bytes);

}  // namespace hearth::fuser
