// The folder in which a process keeps what its models were called with, so that the next one compiles that before it is
// asked: a file (profile_file.h) for each archive, LibTorch and device.
//
// Several processes may use a folder at once: a file is written beside and renamed, after what it held has been merged
// in. Of two that write at the same moment one wins, and the other's news come with its next writing. Everything in it
// may be deleted at any time. What cannot be read or written is logged and does no harm.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "jit/archive/zip_reader.h"
#include "jit/executor/spec_profile.h"

namespace hearth {

struct ProfileStoreLimits {
  size_t specs = 256;                   // in a file: the ones called least go
  uint64_t bytes = uint64_t{64} << 20;  // of all files: those not written for longest go
};

// Thread-safe.
class ProfileStore {
 public:
  // Makes the folder if there is none.
  explicit ProfileStore(std::filesystem::path folder, ProfileStoreLimits limits = {});

  // The name of an archive's file: made of the archive's directory (the names, sizes and checksums of its records), the
  // versions of hearth and LibTorch, and the device.
  static std::string KeyOf(const ZipReader& archive, c10::Device device);

  // Empty if there is no file, or none that is sound.
  std::vector<SpecProfile> Read(const std::string& key) const;
  // Adds these to what is there; where both know a spec, these are right, and one without calls is forgotten. Of what
  // is not among them, specs that this process once `read` and nobody else has called since count half from now on, as
  // they do where they are called.
  void Write(const std::string& key, std::vector<SpecProfile> profiles,
             const std::vector<SpecProfile>& read = {}) const;

 private:
  std::filesystem::path PathOf(const std::string& key) const;

  const std::filesystem::path folder_;
  const ProfileStoreLimits limits_;
};

}  // namespace hearth
