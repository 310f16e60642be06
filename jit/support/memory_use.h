// How many bytes of which memory something holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace hearth {

struct MemoryUse {
  uint64_t host = 0;
  std::map<int, uint64_t> gpus = {};  // by CUDA's number; what is not there holds nothing

  uint64_t OfGpu(int gpu) const {
    const auto found = gpus.find(gpu);
    return found == gpus.end() ? 0 : found->second;
  }

  MemoryUse& operator+=(const MemoryUse& other) {
    host += other.host;
    for (const auto& [gpu, bytes] : other.gpus) gpus[gpu] += bytes;
    return *this;
  }
  // At least as much of each memory as `other`.
  void RaiseTo(const MemoryUse& other) {
    host = std::max(host, other.host);
    for (const auto& [gpu, bytes] : other.gpus) gpus[gpu] = std::max(gpus[gpu], bytes);
  }
  // What of each memory `other` does not have as well.
  MemoryUse Beyond(const MemoryUse& other) const {
    MemoryUse rest{.host = host - std::min(host, other.host)};
    for (const auto& [gpu, bytes] : gpus) {
      if (const uint64_t has = other.OfGpu(gpu); bytes > has) rest.gpus[gpu] = bytes - has;
    }
    return rest;
  }
  bool any() const {
    return host > 0 || std::ranges::any_of(gpus, [](const auto& entry) { return entry.second > 0; });
  }
  bool operator==(const MemoryUse&) const = default;
};

}  // namespace hearth
