// The bytes of a file as memory, kept alive by whoever still uses them (weights are views of it). Two ways:
// in place, where the file's own pages are mapped privately and the file must not be overwritten or truncated while the
// mapping lives (new bytes would show through, a truncation ends the process with SIGBUS); or as a private copy, where
// the bytes are first taken into memory that only this process has. On huge pages such a copy costs half of what a
// sealed memory file does, and its weights are faster to walk. A private copy is made by stretches, which several
// threads may Fill at once; what has not been filled is zeros.
//
// The bytes are writable: a tensor that views them may be written in place, which touches neither the file nor other
// mappings of it. Apart from that and from Fill immutable after construction, so safe to share between threads.
// Errors: FileError when the file cannot be opened or read, ArchiveError when it changes while being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "jit/support/errors.h"
#include "jit/support/file_error.h"

namespace hearth {

class Mapping {
 public:
  enum class Mode { kInPlace, kPrivateCopy };

  static std::shared_ptr<const Mapping> Open(const std::string& path, Mode mode);
  // A mapping of bytes that are in memory already (they are copied). `name` is what errors call it.
  static std::shared_ptr<const Mapping> Copy(std::string_view bytes, const std::string& name);

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Has the bytes from `begin` to `end` in memory when it returns. No two threads may fill one byte at a time.
  void Fill(uint64_t begin, uint64_t end) const;
  // The bytes will be filled soon; returns without waiting for the disk.
  void ReadAhead(uint64_t begin, uint64_t size) const;
  // Lets go of the file: everything that will be used has been filled. Not while another thread fills.
  void CloseFile() const;

  std::string_view bytes() const { return {data_, size_}; }
  // The same bytes, writable: writes stay in this mapping.
  char* data() const { return data_; }
  const std::string& name() const { return name_; }

 private:
  class File;

  // `region` is what was mapped, `data` the file's bytes within it.
  Mapping(void* region, size_t region_size, char* data, size_t size, std::string name);

  static std::shared_ptr<Mapping> Allocate(size_t size, const std::string& name);

  void* region_;
  size_t region_size_;
  char* data_;
  size_t size_;
  std::string name_;
  mutable std::unique_ptr<const File> file_;  // that a private copy is still made of
};

}  // namespace hearth
