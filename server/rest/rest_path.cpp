#include "server/rest/rest_path.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace hearth::server {
namespace {

using Parts = std::span<const std::string>;

enum Methods : uint8_t { kGet, kPost, kGetAndPost };

struct Entry {
  Resource resource;
  const char* pattern;  // below /v2/; * is a name, # a version
  Methods methods;
};

constexpr Entry kEntries[] = {
    {Resource::kServerMetadata, "", kGet},
    {Resource::kServerLive, "health/live", kGet},
    {Resource::kServerReady, "health/ready", kGet},
    // Before a model of that name, as Triton has it.
    {Resource::kAllStatistics, "models/stats", kGet},
    {Resource::kModelMetadata, "models/*", kGet},
    {Resource::kModelMetadata, "models/*/versions/#", kGet},
    {Resource::kModelReady, "models/*/ready", kGet},
    {Resource::kModelReady, "models/*/versions/#/ready", kGet},
    {Resource::kModelConfig, "models/*/config", kGet},
    {Resource::kModelConfig, "models/*/versions/#/config", kGet},
    {Resource::kModelStatistics, "models/*/stats", kGet},
    {Resource::kModelStatistics, "models/*/versions/#/stats", kGet},
    {Resource::kInfer, "models/*/infer", kPost},
    {Resource::kInfer, "models/*/versions/#/infer", kPost},
    {Resource::kModelTrace, "models/*/trace/setting", kGetAndPost},
    {Resource::kTrace, "trace/setting", kGetAndPost},
    {Resource::kLogging, "logging", kGetAndPost},
    {Resource::kRepositoryIndex, "repository/index", kPost},
    {Resource::kRepositoryLoad, "repository/models/*/load", kPost},
    {Resource::kRepositoryUnload, "repository/models/*/unload", kPost},
    {Resource::kSystemMemoryStatus, "systemsharedmemory/status", kGet},
    {Resource::kSystemMemoryStatus, "systemsharedmemory/region/*/status", kGet},
    {Resource::kSystemMemoryRegister, "systemsharedmemory/region/*/register", kPost},
    {Resource::kSystemMemoryUnregister, "systemsharedmemory/unregister", kPost},
    {Resource::kSystemMemoryUnregister, "systemsharedmemory/region/*/unregister", kPost},
    {Resource::kCudaMemoryStatus, "cudasharedmemory/status", kGet},
    {Resource::kCudaMemoryStatus, "cudasharedmemory/region/*/status", kGet},
    {Resource::kCudaMemoryRegister, "cudasharedmemory/region/*/register", kPost},
    {Resource::kCudaMemoryUnregister, "cudasharedmemory/unregister", kPost},
    {Resource::kCudaMemoryUnregister, "cudasharedmemory/region/*/unregister", kPost},
};

bool IsVersion(const std::string& text) { return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit); }

std::optional<RestPath> Match(const Entry& entry, Parts parts) {
  RestPath path{.resource = entry.resource};
  size_t at = 0;
  for (const absl::string_view expected : absl::StrSplit(entry.pattern, '/', absl::SkipEmpty())) {
    if (at == parts.size()) return std::nullopt;
    const std::string& part = parts[at++];
    if (expected == "#") {
      if (!IsVersion(part)) return std::nullopt;
      path.version = part;
    } else if (expected == "*") {
      if (part.empty()) return std::nullopt;
      (absl::StartsWith(entry.pattern, "models") || absl::StartsWith(entry.pattern, "repository") ? path.model
                                                                                                  : path.region) = part;
    } else if (expected != part) {
      return std::nullopt;
    }
  }
  if (at != parts.size()) return std::nullopt;
  return path;
}

Methods MethodsOf(Resource resource) { return std::ranges::find(kEntries, resource, &Entry::resource)->methods; }

}  // namespace

std::optional<RestPath> ParseRestPath(std::string_view path) {
  const std::vector<std::string> parts = absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
  if (parts.size() < 2 || !parts[0].empty() || parts[1] != "v2") return std::nullopt;
  // The specification has the server's metadata at "/v2/", its implementations at "/v2".
  if (path == "/v2/") return RestPath{};
  for (const Entry& entry : kEntries) {
    if (auto match = Match(entry, Parts(parts).subspan(2))) return match;
  }
  return std::nullopt;
}

const char* AllowedMethods(Resource resource) {
  switch (MethodsOf(resource)) {
    case kGet:
      return "GET, HEAD";
    case kPost:
      return "POST";
    default:
      return "GET, HEAD, POST";
  }
}

bool Allows(Resource resource, std::string_view method) {
  const Methods methods = MethodsOf(resource);
  if (method == "GET" || method == "HEAD") return methods != kPost;
  return method == "POST" && methods != kGet;
}

}  // namespace hearth::server
