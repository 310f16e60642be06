#include "jit/fuser/image/executable_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace hearth::fuser {
namespace {

// sizes: mov [rsi], rdi-pointed number; loop 0: stores end - begin to the first buffer.
KernelImage ImageOfBytes() {
  KernelImage image;
  image.block = std::string("\x48\x8b\x07\x48\x89\x06\xc3", 7);  // mov rax,[rdi]; mov [rsi],rax; ret
  image.block.resize(16, '\xcc');
  image.block +=
      std::string("\x48\x29\xd1\x48\x8b\x07\x48\x89\x08\xc3", 10);  // sub rcx,rdx; mov rax,[rdi]; mov [rax],rcx
  image.sizes_entry = 0;
  image.loop_entries = {16};
  return image;
}

// The permissions of the mapping that has the address, as /proc/self/maps says them; empty if none has.
std::string PermissionsAt(uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::string permissions;
    fields >> std::hex >> begin >> dash >> end >> permissions;
    if (begin <= address && address < end) return permissions;
  }
  return "";
}

TEST(ExecutableMemoryTest, TheFunctionsOfAnImageRun) {
  const ExecutableMemory memory(ImageOfBytes());
  ASSERT_EQ(memory.num_loops(), 1u);
  const int64_t symbols[] = {42};
  int64_t size = 0;
  memory.sizes()(symbols, &size);
  EXPECT_EQ(size, 42);
  int64_t result = 0;
  void* const buffers[] = {&result};
  memory.loop(0)(buffers, symbols, 3, 10, nullptr);
  EXPECT_EQ(result, 7);
}

TEST(ExecutableMemoryTest, CodeIsReadAndExecutedButNotWritten) {
  const ExecutableMemory memory(ImageOfBytes());
  const auto address = reinterpret_cast<uintptr_t>(memory.sizes());
  EXPECT_EQ(address % kBlockAlignment, 0u);
  EXPECT_EQ(PermissionsAt(address), "r-xp");
}

TEST(ExecutableMemoryTest, TheMemoryEndsWithTheObject) {
  uintptr_t address = 0;
  {
    const ExecutableMemory memory(ImageOfBytes());
    address = reinterpret_cast<uintptr_t>(memory.sizes());
  }
  EXPECT_EQ(PermissionsAt(address).find('x'), std::string::npos);
}

}  // namespace
}  // namespace hearth::fuser
