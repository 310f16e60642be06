#include "server/security/method_roles.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace hearth::server {
namespace {

constexpr auto kMethods = std::to_array<std::pair<std::string_view, Role>>({
    {"/grpc.health.v1.Health/Check", Role::kAnyone},
    {"/grpc.health.v1.Health/List", Role::kAnyone},
    {"/grpc.health.v1.Health/Watch", Role::kAnyone},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Role::kRead},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kRead},
    {"/hearth.v1.ModelService/Call", Role::kInfer},
    {"/hearth.v1.ModelService/ListMethods", Role::kRead},
    {"/hearth.v1.ModelService/ListPlans", Role::kRead},
    {"/hearth.v1.ModelService/Profile", Role::kAdmin},
    // Requests hold data of whoever asks.
    {"/hearth.v1.ModelService/Record", Role::kAdmin},
    {"/hearth.v1.ModelService/Warm", Role::kRead},
    {"/hearth.v1.StatusService/ServerStatus", Role::kRead},
    {"/inference.GRPCInferenceService/CudaSharedMemoryRegister", Role::kAdmin},
    {"/inference.GRPCInferenceService/CudaSharedMemoryStatus", Role::kRead},
    {"/inference.GRPCInferenceService/CudaSharedMemoryUnregister", Role::kAdmin},
    // Reads or changes, as the message says, which nobody has read yet where roles are looked at.
    {"/inference.GRPCInferenceService/LogSettings", Role::kAdmin},
    {"/inference.GRPCInferenceService/ModelConfig", Role::kRead},
    {"/inference.GRPCInferenceService/ModelInfer", Role::kInfer},
    {"/inference.GRPCInferenceService/ModelMetadata", Role::kRead},
    {"/inference.GRPCInferenceService/ModelReady", Role::kAnyone},
    {"/inference.GRPCInferenceService/ModelStatistics", Role::kRead},
    {"/inference.GRPCInferenceService/ModelStreamInfer", Role::kInfer},
    {"/inference.GRPCInferenceService/RepositoryIndex", Role::kRead},
    {"/inference.GRPCInferenceService/RepositoryModelLoad", Role::kAdmin},
    {"/inference.GRPCInferenceService/RepositoryModelUnload", Role::kAdmin},
    {"/inference.GRPCInferenceService/ServerLive", Role::kAnyone},
    {"/inference.GRPCInferenceService/ServerMetadata", Role::kRead},
    {"/inference.GRPCInferenceService/ServerReady", Role::kAnyone},
    {"/inference.GRPCInferenceService/SystemSharedMemoryRegister", Role::kAdmin},
    {"/inference.GRPCInferenceService/SystemSharedMemoryStatus", Role::kRead},
    {"/inference.GRPCInferenceService/SystemSharedMemoryUnregister", Role::kAdmin},
    {"/inference.GRPCInferenceService/TraceSetting", Role::kAdmin},
});
static_assert(std::ranges::is_sorted(kMethods));

// A part "*" stands for any one part. GET stands for HEAD too.
struct Route {
  consteval Route(std::string_view taken_by, std::string_view pattern, Role needed)
      : method(taken_by), path(pattern), role(needed), slashes(std::ranges::count(pattern, '/')) {}

  std::string_view method;
  std::string_view path;
  Role role;
  std::ptrdiff_t slashes;
};

constexpr auto kRoutes = std::to_array<Route>({
    {"GET", "/", Role::kRead},
    {"GET", "/metrics", Role::kRead},
    {"GET", "/status", Role::kRead},
    {"GET", "/status.json", Role::kRead},
    {"GET", "/status/*", Role::kRead},
    {"GET", "/status/models/*/versions/*", Role::kRead},
    {"GET", "/v2", Role::kRead},
    {"GET", "/v2/cudasharedmemory/region/*/status", Role::kRead},
    {"GET", "/v2/cudasharedmemory/status", Role::kRead},
    {"GET", "/v2/health/live", Role::kAnyone},
    {"GET", "/v2/health/ready", Role::kAnyone},
    {"GET", "/v2/logging", Role::kRead},
    {"GET", "/v2/models/*", Role::kRead},
    {"GET", "/v2/models/*/config", Role::kRead},
    {"GET", "/v2/models/*/ready", Role::kAnyone},
    {"GET", "/v2/models/*/stats", Role::kRead},
    {"GET", "/v2/models/*/trace/setting", Role::kRead},
    {"GET", "/v2/models/*/versions/*", Role::kRead},
    {"GET", "/v2/models/*/versions/*/config", Role::kRead},
    {"GET", "/v2/models/*/versions/*/ready", Role::kAnyone},
    {"GET", "/v2/models/*/versions/*/stats", Role::kRead},
    {"GET", "/v2/models/*/versions/*/trace/setting", Role::kRead},
    {"GET", "/v2/models/stats", Role::kRead},
    {"GET", "/v2/systemsharedmemory/region/*/status", Role::kRead},
    {"GET", "/v2/systemsharedmemory/status", Role::kRead},
    {"GET", "/v2/trace/setting", Role::kRead},
    {"POST", "/v2/cudasharedmemory/region/*/register", Role::kAdmin},
    {"POST", "/v2/cudasharedmemory/region/*/unregister", Role::kAdmin},
    {"POST", "/v2/cudasharedmemory/unregister", Role::kAdmin},
    {"POST", "/v2/logging", Role::kAdmin},
    {"POST", "/v2/models/*/generate", Role::kInfer},
    {"POST", "/v2/models/*/generate_stream", Role::kInfer},
    {"POST", "/v2/models/*/infer", Role::kInfer},
    {"POST", "/v2/models/*/trace/setting", Role::kAdmin},
    {"POST", "/v2/models/*/versions/*/generate", Role::kInfer},
    {"POST", "/v2/models/*/versions/*/generate_stream", Role::kInfer},
    {"POST", "/v2/models/*/versions/*/infer", Role::kInfer},
    {"POST", "/v2/models/*/versions/*/trace/setting", Role::kAdmin},
    {"POST", "/v2/repository/index", Role::kRead},
    {"POST", "/v2/repository/models/*/load", Role::kAdmin},
    {"POST", "/v2/repository/models/*/unload", Role::kAdmin},
    {"POST", "/v2/systemsharedmemory/region/*/register", Role::kAdmin},
    {"POST", "/v2/systemsharedmemory/region/*/unregister", Role::kAdmin},
    {"POST", "/v2/systemsharedmemory/unregister", Role::kAdmin},
    {"POST", "/v2/trace/setting", Role::kAdmin},
});

// Takes the first part off, and the slash behind it.
std::string_view TakePart(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(path.size(), part.size() + 1));
  return part;
}

// Both have as many parts.
bool Matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty() || !path.empty()) {
    const std::string_view want = TakePart(pattern);
    const std::string_view part = TakePart(path);
    if (want != part && (want != "*" || part.empty())) return false;
  }
  return true;
}

}  // namespace

std::optional<Role> RoleOfMethod(std::string_view path) {
  const auto found = std::ranges::lower_bound(kMethods, path, {}, &std::pair<std::string_view, Role>::first);
  if (found == kMethods.end() || found->first != path) return std::nullopt;
  return found->second;
}

std::optional<Role> RoleOfRoute(std::string_view http_method, std::string_view path) {
  if (http_method == "HEAD") http_method = "GET";
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::ptrdiff_t slashes = std::ranges::count(path, '/');
  for (const Route& route : kRoutes) {
    if (route.slashes == slashes && route.method == http_method && Matches(route.path, path)) return route.role;
  }
  return std::nullopt;
}

}  // namespace hearth::server
