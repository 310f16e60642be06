// The paths of the REST protocol, as Triton has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::server {

enum class Resource : uint8_t {
  kServerMetadata,          // /v2
  kServerLive,              // /v2/health/live
  kServerReady,             // /v2/health/ready
  kAllStatistics,           // /v2/models/stats
  kModelMetadata,           // /v2/models/{model}[/versions/{version}]
  kModelReady,              // ... /ready
  kModelConfig,             // ... /config
  kModelStatistics,         // ... /stats
  kInfer,                   // ... /infer
  kModelTrace,              // /v2/models/{model}/trace/setting
  kTrace,                   // /v2/trace/setting
  kLogging,                 // /v2/logging
  kRepositoryIndex,         // /v2/repository/index
  kRepositoryLoad,          // /v2/repository/models/{model}/load
  kRepositoryUnload,        // /v2/repository/models/{model}/unload
  kSystemMemoryStatus,      // /v2/systemsharedmemory[/region/{region}]/status
  kSystemMemoryRegister,    // ... /register
  kSystemMemoryUnregister,  // ... /unregister
  kCudaMemoryStatus,        // /v2/cudasharedmemory[/region/{region}]/status
  kCudaMemoryRegister,      // ... /register
  kCudaMemoryUnregister,    // ... /unregister
};

struct RestPath {
  Resource resource = Resource::kServerMetadata;
  std::string model = {};
  std::string version = {};  // digits, or empty
  std::string region = {};
};

// Nothing for a path that is none of these. `path` is percent-decoded; names have no slashes.
std::optional<RestPath> ParseRestPath(std::string_view path);

// The methods that a resource takes, as an Allow header lists them: HEAD is taken with GET.
const char* AllowedMethods(Resource resource);
bool Allows(Resource resource, std::string_view method);

}  // namespace hearth::server
