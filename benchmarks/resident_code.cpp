#include "benchmarks/resident_code.h"

#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace hearth::benchmarks {
namespace {

// The code of a library for GPUs is a gigabyte of constants, which nobody runs here.
constexpr size_t kMostConstants = size_t{256} << 20;

int ReadInObject(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const bool runs = (part.p_flags & PF_X) != 0;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0 || (!runs && part.p_filesz > kMostConstants)) continue;
    const uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
    const uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_filesz;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
  }
  return 0;
}

}  // namespace

void ReadInCode() { dl_iterate_phdr(&ReadInObject, nullptr); }

uint64_t MajorFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_majflt);
}

}  // namespace hearth::benchmarks
