#include "jit/fuser/runtime/code_origin.h"

#include <cpuid.h>
#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include "jit/fuser/image/codegen_protocol.h"
#include "jit/support/version.h"

namespace hearth::fuser {
namespace {

std::string Hexadecimal(const unsigned char* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// What LLVM and others look at to tell a processor and what it can: of each leaf the registers that are the same on all
// of a machine's processors and in all runs, and which registers the system keeps.
std::string ProcessorText() {
  struct Leaf {
    unsigned number, part;
    bool eax, ebx, ecx, edx;
  };
  constexpr Leaf kLeaves[] = {
      {0, 0, true, true, true, true},
      {1, 0, true, false, true, true},
      {7, 0, false, true, true, true},
      {7, 1, true, true, true, true},
      {0xd, 1, true, false, false, false},
      {0x14, 0, false, true, false, false},
      {0x19, 0, false, true, false, false},
      {0x1e, 1, true, false, false, false},
      {0x24, 0, false, true, false, false},
      {0x80000001, 0, true, false, true, true},
      {0x80000008, 0, false, true, false, false},
  };
  std::vector<uint32_t> words;
  bool keeps_registers = false;
  for (const Leaf& leaf : kLeaves) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf.number, leaf.part, &a, &b, &c, &d) == 0) a = b = c = d = 0;
    if (leaf.number == 1) keeps_registers = (c & bit_OSXSAVE) != 0;
    if (leaf.eax) words.push_back(a);
    if (leaf.ebx) words.push_back(b);
    if (leaf.ecx) words.push_back(c);
    if (leaf.edx) words.push_back(d);
  }
  if (keeps_registers) {
    uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.insert(words.end(), {low, high});
  }
  return Hexadecimal(reinterpret_cast<const unsigned char*>(words.data()), words.size() * sizeof(uint32_t));
}

// Nothing where the file is shorter.
template <typename Value>
bool ReadAt(std::ifstream& file, uint64_t offset, Value* value) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(value), sizeof(*value));
  return file.good();
}

// Of a segment of notes.
std::string BuildIdAmong(std::ifstream& file, uint64_t begin, uint64_t end) {
  constexpr uint32_t kMostBytes = 64;
  const auto aligned = [](uint32_t size) { return (uint64_t{size} + 3) / 4 * 4; };
  Elf64_Nhdr note;
  for (uint64_t at = begin; at + sizeof(note) <= end;) {
    if (!ReadAt(file, at, &note)) return "";
    const uint64_t name = at + sizeof(note), content = name + aligned(note.n_namesz);
    at = content + aligned(note.n_descsz);
    std::array<char, 4> owner{};
    std::array<unsigned char, kMostBytes> id{};
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != owner.size() || note.n_descsz > kMostBytes || at > end)
      continue;
    if (!ReadAt(file, name, &owner) || std::string_view(owner.data(), owner.size()) != std::string_view("GNU\0", 4))
      continue;
    file.seekg(static_cast<std::streamoff>(content));
    file.read(reinterpret_cast<char*>(id.data()), note.n_descsz);
    if (file.good()) return Hexadecimal(id.data(), note.n_descsz);
  }
  return "";
}

}  // namespace

std::string BuildIdOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file || !ReadAt(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return "";
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(file, header.e_phoff + i * sizeof(segment), &segment)) return "";
    if (segment.p_type != PT_NOTE) continue;
    std::string id = BuildIdAmong(file, segment.p_offset, segment.p_offset + segment.p_filesz);
    if (!id.empty()) return id;
  }
  return "";
}

std::string CodeOrigin(const std::string& helper, const std::string& target) {
  const std::string build = BuildIdOf(helper);
  if (build.empty()) return "";
  const std::string processor = target == kNativeTarget ? "processor " + ProcessorText() : "target " + target;
  return "hearth " + std::string(kVersion) + ", code by " + build + ", " + processor;
}

}  // namespace hearth::fuser
