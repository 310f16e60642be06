// The folder in which a process keeps the code of kernels for the next one: a file (image/kernel_file.h) a kernel,
// named by its text and by what the code follows from (code_origin.h). Kernels that have no code, or whose code gave
// wrong results, are kept too, with the reason, and as files for hearth-opt that show what is wrong with them.
//
// What is read is run. A file counts only where it belongs to this process's user and nobody else may write it; then
// its checksum, its text and its image are checked. Any other is ignored, and replaced once its kernel has been made
// again.
//
// Several processes may use a folder at once: a file is written beside and renamed. Everything in it may be deleted at
// any time. What cannot be read or written is logged and does no harm. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "jit/fuser/image/kernel_file.h"

namespace hearth::fuser {

class KernelStore {
 public:
  struct Limits {
    uint64_t bytes = uint64_t{64} << 20;  // of all files: those not used for longest go
    size_t reproducers = 32;              // there are no more than those that were written first
  };

  // Of code with that origin. Makes the folder when it writes first.
  KernelStore(std::filesystem::path folder, std::string origin)
      : KernelStore(std::move(folder), std::move(origin), {}) {}
  KernelStore(std::filesystem::path folder, std::string origin, Limits limits);

  // Nothing if there is no file, or none that is sound.
  std::optional<KernelFile> Read(const std::string& text);
  // `image` is of that kernel.
  void Write(const std::string& text, KernelImage image);
  // There is no code for it that is any good; `reason` says why. Keeps a reproducer.
  void WriteReason(const std::string& text, const std::string& reason);

  // Where the file of a kernel is.
  std::filesystem::path PathOf(std::string_view text) const;
  std::filesystem::path ReproducerOf(std::string_view text) const;

 private:
  void Write(const KernelFile& file);
  void WriteReproducer(const std::string& text, const std::string& reason);
  void MakeRoom();

  const std::filesystem::path folder_;
  const std::string origin_;
  const Limits limits_;
  std::atomic<uint64_t> unseen_bytes_{UINT64_MAX / 2};  // written since the folder was last looked through
};

}  // namespace hearth::fuser
