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
// A kernel for a GPU (fuser/cuda) has the block for `sizes` alone, which the host calls as above, and no entries of
// loops. `device_code` is a cubin, which has two functions for loop k of `device_loops`, with these parameters:
//
//   loop_<k>(Arguments), loop_<k>_wide(Arguments)
//     Arguments is a struct of 8-byte words, passed by value: the pointers of the inputs, then of the outputs; the
//     kernel's symbols, an f64 as its bits; the number of rounds of this loop, which `sizes` tells.
//     loop_<k> computes indices in 32 bits. It is for launches with no more than kMostNarrowElements rounds, elements
//     of any buffer, and elements from a buffer's first to its last one in memory, and for buffers whose memory is
//     aligned to DeviceLoop::alignment; loop_<k>_wide is for all. A block
//     has DeviceLoop::threads threads or fewer, in multiples of 32, in the dimension x. Any number of blocks computes
//     all rounds. Without rounds there is nothing to launch. The dynamic shared memory of a block is the scratch that
//     `sizes` tells, as often as the block has warps where a warp computes a round: the local buffers that the loop
//     uses, by number, each padded to a multiple of kBlockAlignment; none where these are in registers.
//     More than 48 KiB are to be asked for with CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; the functions have
//     some static shared memory beside it. The launches of a kernel's loops follow one another in one stream.
//
// As bytes (little-endian): the magic, version, lengths, kernel hash, entries, device loops, target, block, device
// code, then a checksum of all of it. What is read comes from a helper process or a disk: ParseKernelImage takes any
// bytes and throws ImageError unless the layout is right and the checksum fits. That does not make code from a stranger
// safe to run.
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
// Of the device's loops.
inline constexpr uint32_t kThreadsPerWarp = 32;
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr int64_t kMostNarrowElements = (int64_t{1} << 31) - 1 - kMaxThreadsPerBlock;

// How a loop at the top is launched on a GPU.
struct DeviceLoop {
  uint32_t threads = 0;            // of a block, a multiple of kThreadsPerWarp
  uint32_t threads_per_round = 1;  // what computes a round: a thread, a warp, or the block
  uint32_t rounds_per_thread = 1;  // that are neighbours, where a thread computes a round
  // Of loop_<k>:
  uint32_t alignment = 1;                // of the buffers' memory, in bytes, that it needs
  bool has_locals_in_registers = false;  // it needs no scratch, whatever `sizes` tells

  bool operator==(const DeviceLoop&) const = default;
};

struct KernelImage {
  std::string target;        // the processor that the code is for, as HostTarget's or CudaTarget's text
  uint64_t kernel_hash = 0;  // HashOf the kernel's text
  uint32_t sizes_entry = 0;  // offsets in the block
  std::vector<uint32_t> loop_entries;
  std::string block;        // its first byte is to be aligned to kBlockAlignment
  std::string device_code;  // empty for a CPU
  std::vector<DeviceLoop> device_loops;

  bool operator==(const KernelImage&) const = default;
};

std::string SerializeKernelImage(const KernelImage& image);
KernelImage ParseKernelImage(std::string_view bytes);

// FNV-1a of 64 bits: against accidents, not against intent.
uint64_t HashOf(std::string_view bytes);

}  // namespace hearth::fuser
