#include "jit/fuser/image/executable_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace hearth::fuser {

ExecutableMemory::ExecutableMemory(const KernelImage& image) {
  // Pages are aligned better than a block needs to be.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (image.block.size() + page - 1) / page * page;
  loops_.reserve(image.loop_entries.size());
  memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "no memory for a kernel's code");
  std::memcpy(memory_, image.block.data(), image.block.size());
  if (mprotect(memory_, bytes_, PROT_READ | PROT_EXEC) != 0) {
    const int error = errno;
    munmap(memory_, bytes_);
    throw std::system_error(error, std::generic_category(), "a kernel's code may not be executed");
  }
  auto* base = static_cast<char*>(memory_);
  sizes_ = reinterpret_cast<SizesFunction>(base + image.sizes_entry);
  for (const uint32_t entry : image.loop_entries) loops_.push_back(reinterpret_cast<LoopFunction>(base + entry));
}

ExecutableMemory::~ExecutableMemory() { munmap(memory_, bytes_); }

}  // namespace hearth::fuser
