#include "server/rest/rest_path.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "server/repository/version_routing.h"

namespace hearth::server {
namespace {

// Of the longest pattern.
constexpr size_t kMostParts = 6;

// What lies between a path's slashes.
struct Parts {
  std::array<std::string_view, kMostParts> parts;
  size_t size = 0;

  // `fits` is false for a path of more parts than any pattern has.
  constexpr explicit Parts(std::string_view path, bool& fits) {
    fits = true;
    if (path.empty()) return;
    while (size < kMostParts) {
      const size_t slash = path.find('/');
      parts[size++] = path.substr(0, slash);
      if (slash == std::string_view::npos) return;
      path.remove_prefix(slash + 1);
    }
    fits = false;
  }
};

// Read by the compiler.
struct Pattern : Parts {
  consteval Pattern(const char* text) : Pattern(text, true) {}  // NOLINT(google-explicit-constructor)

 private:
  consteval Pattern(const char* text, bool fits) : Parts(text, fits) {
    if (!fits) throw "kMostParts is less than this pattern has";
  }
};

enum Methods : uint8_t { kGet, kPost, kGetAndPost };

struct Entry {
  Resource resource;
  Pattern pattern;  // below /v2/; * is a name, # a version's number or label
  Methods methods;
};

constexpr Entry kEntries[] = {
    // Before all others, since most requests are for it.
    {Resource::kInfer, "models/*/infer", kPost},
    {Resource::kInfer, "models/*/versions/#/infer", kPost},
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

bool IsVersion(std::string_view text) {
  return IsVersionLabel(text) || (!text.empty() && std::ranges::all_of(text, absl::ascii_isdigit));
}

bool Matches(const Pattern& pattern, const Parts& path) {
  if (pattern.size != path.size) return false;
  for (size_t i = 0; i < path.size; ++i) {
    const std::string_view want = pattern.parts[i], part = path.parts[i];
    if (want == "#" ? !IsVersion(part) : want == "*" ? part.empty() : want != part) return false;
  }
  return true;
}

RestPath Filled(const Entry& entry, const Parts& path) {
  RestPath filled{.resource = entry.resource};
  for (size_t i = 0; i < path.size; ++i) {
    if (entry.pattern.parts[i] == "#") filled.version = path.parts[i];
    if (entry.pattern.parts[i] == "*") (path.parts[i - 1] == "models" ? filled.model : filled.region) = path.parts[i];
  }
  return filled;
}

Methods MethodsOf(Resource resource) { return std::ranges::find(kEntries, resource, &Entry::resource)->methods; }

}  // namespace

std::optional<RestPath> ParseRestPath(std::string_view path) {
  constexpr std::string_view kRoot = "/v2";
  if (!path.starts_with(kRoot)) return std::nullopt;
  path.remove_prefix(kRoot.size());
  // The specification has the server's metadata at "/v2/", its implementations at "/v2".
  if (path.empty() || path == "/") return RestPath{};
  if (!path.starts_with('/')) return std::nullopt;
  bool fits = false;
  const Parts parts(path.substr(1), fits);
  if (!fits) return std::nullopt;
  const auto* const entry =
      std::ranges::find_if(kEntries, [&](const Entry& known) { return Matches(known.pattern, parts); });
  if (entry == std::end(kEntries)) return std::nullopt;
  return Filled(*entry, parts);
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
