#include "server/api/inference_methods.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/support/version.h"
#include "server/api/device_region.h"
#include "server/api/elsewhere.h"
#include "server/api/guarded.h"
#include "server/api/model_messages.h"
#include "server/api/system_region.h"
#include "server/api/trace_settings.h"

namespace hearth::server {
namespace {

// Extensions of the protocol, under Triton's names, that work here.
constexpr const char* kExtensions[] = {"binary_tensor_data",
                                       "classification",
                                       "model_repository",
                                       "model_repository(unload_dependents)",
                                       "model_configuration",
                                       "statistics",
                                       "schedule_policy",
                                       "logging",
                                       "sequence"};
// Of a load's parameters that are files; the rest of the name is the path.
constexpr std::string_view kFilePrefix = "file:";
// Where clients may share memory, and where models are on a GPU.
constexpr const char* kSharedMemoryExtension = "system_shared_memory";
constexpr const char* kDeviceMemoryExtension = "cuda_shared_memory";

// The region of that kind and name, or all of the kind if there is no name.
absl::StatusOr<std::vector<SharedRegionPtr>> RegionsOf(const SharedRegions& regions, SharedRegion::Kind kind,
                                                       const std::string& name) {
  if (name.empty()) return regions.List(kind);
  auto found = regions.Find(name);
  if (found.ok() && (*found)->kind() == kind) return std::vector{*std::move(found)};
  return absl::NotFoundError(absl::StrCat("Unable to find ", kind == SharedRegion::Kind::kSystem ? "system" : "cuda",
                                          " shared memory region: '", name, "'"));
}

// Likewise.
void Unregister(SharedRegions& regions, SharedRegion::Kind kind, const std::string& name) {
  if (name.empty()) {
    regions.UnregisterAll(kind);
  } else {
    regions.Unregister(kind, name);
  }
}

// A repository's name in a request can only be the one that all roots together are.
absl::Status CheckRepositoryName(const std::string& name) {
  if (name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("repository_name is '", name, "'; this server has one unnamed repository, leave it empty"));
}

// The version that a load's parameter 'rollback' names, by its number; 0: what served before.
absl::StatusOr<int64_t> ReadRollback(const inference::ModelRepositoryParameter& parameter) {
  if (parameter.has_bool_param() && parameter.bool_param()) return 0;
  if (parameter.has_int64_param() && parameter.int64_param() > 0) return parameter.int64_param();
  return absl::InvalidArgumentError("the parameter 'rollback' of a load is true, or the number of a version");
}

// A parameter of a load that is about shadow traffic; nothing for a value that is neither text nor number.
std::optional<std::string> ReadShadowParameter(const inference::ModelRepositoryParameter& parameter) {
  if (parameter.has_string_param()) return parameter.string_param();
  if (parameter.has_int64_param()) return std::to_string(parameter.int64_param());
  return std::nullopt;
}

absl::Status ReadStatistics(const Repository& repository, const std::string& name, const std::string& version,
                            inference::ModelStatisticsResponse& response) {
  std::optional<int64_t> number;  // nothing: every version
  if (!name.empty()) {
    const auto found = repository.Find(name, version);
    if (!found.ok()) return found.status();
    if (!version.empty()) number = (*found)->version;
  }
  for (const ServablePtr& servable : repository.Serving()) {
    const bool wanted = name.empty() || name == servable->name;
    if (wanted && servable->version == number.value_or(servable->version)) {
      *response.add_model_stats() = DescribeStatistics(*servable);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadIndex(const Repository& repository, bool ready, inference::RepositoryIndexResponse& response) {
  for (IndexEntry& entry : repository.Index(ready)) {
    auto& model = *response.add_models();
    model.set_name(std::move(entry.name));
    model.set_version(std::move(entry.version));
    model.set_state(ModelStateName(entry.state));
    model.set_reason(std::move(entry.reason));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InferenceMethods::ServerLive(const inference::ServerLiveRequest&,
                                          inference::ServerLiveResponse& response) const {
  response.set_live(true);
  return absl::OkStatus();
}

absl::Status InferenceMethods::ServerReady(const inference::ServerReadyRequest&,
                                           inference::ServerReadyResponse& response) const {
  response.set_ready(readiness_.Ready(repository_));
  return absl::OkStatus();
}

absl::Status InferenceMethods::ServerMetadata(const inference::ServerMetadataRequest&,
                                              inference::ServerMetadataResponse& response) const {
  response.set_name(server_name_);
  response.set_version(kVersion);
  for (const char* extension : kExtensions) response.add_extensions(extension);
  if (regions_.allowed()) response.add_extensions(kSharedMemoryExtension);
  if (regions_.device_allowed()) response.add_extensions(kDeviceMemoryExtension);
  if (tracer_ != nullptr) response.add_extensions("trace");
  return absl::OkStatus();
}

absl::Status InferenceMethods::ModelReady(const inference::ModelReadyRequest& request,
                                          inference::ModelReadyResponse& response) const {
  const absl::Status status = repository_.CheckReady(request.name(), request.version());
  if (absl::IsInvalidArgument(status)) return status;
  response.set_ready(status.ok() && !readiness_.draining);
  return absl::OkStatus();
}

void InferenceMethods::WithVersion(const std::string& name, const std::string& version,
                                   std::function<void(const Servable&)> describe, const Done& done) {
  auto look = [this, name, version, describe = std::move(describe)] {
    const auto found = repository_.Find(name, version);
    if (found.ok()) describe(**found);
    return found.status();
  };
  const absl::Status status = Guarded(look);
  if (!IsIdle(status)) return done(status);
  // Nobody tells whether the client is still there.
  const auto waits = std::make_shared<Done>(done);
  repository_.LoadIdle(name, waits, [look = std::move(look), waits](const absl::Status& loaded) {
    (*waits)(loaded.ok() ? Guarded(look) : loaded);
  });
}

void InferenceMethods::ModelMetadata(const inference::ModelMetadataRequest& request,
                                     inference::ModelMetadataResponse& response, Done done) {
  const bool of_all = request.version().empty();
  const auto describe = [this, of_all, name = request.name(), &response](const Servable& servable) {
    response = DescribeModel(servable, of_all ? repository_.ServedVersions(name) : std::vector{servable.version});
  };
  WithVersion(request.name(), request.version(), describe, done);
}

void InferenceMethods::ModelConfig(const inference::ModelConfigRequest& request,
                                   inference::ModelConfigResponse& response, Done done) {
  const auto describe = [&response](const Servable& servable) {
    *response.mutable_config() = DescribeConfig(servable);
  };
  WithVersion(request.name(), request.version(), describe, done);
}

absl::Status InferenceMethods::SystemSharedMemoryStatus(const inference::SystemSharedMemoryStatusRequest& request,
                                                        inference::SystemSharedMemoryStatusResponse& response) const {
  const auto found = RegionsOf(regions_, SharedRegion::Kind::kSystem, request.name());
  if (!found.ok()) return found.status();
  for (const SharedRegionPtr& each : *found) {
    const auto& region = static_cast<const SystemRegion&>(*each);
    auto& status = (*response.mutable_regions())[region.name()];
    status.set_name(region.name());
    status.set_key(region.key());
    status.set_offset(region.offset());
    status.set_byte_size(region.byte_size());
  }
  return absl::OkStatus();
}

absl::Status InferenceMethods::SystemSharedMemoryRegister(const inference::SystemSharedMemoryRegisterRequest& request,
                                                          inference::SystemSharedMemoryRegisterResponse&) {
  return regions_.Register(request.name(), request.key(), request.offset(), request.byte_size());
}

absl::Status InferenceMethods::SystemSharedMemoryUnregister(
    const inference::SystemSharedMemoryUnregisterRequest& request, inference::SystemSharedMemoryUnregisterResponse&) {
  Unregister(regions_, SharedRegion::Kind::kSystem, request.name());
  return absl::OkStatus();
}

absl::Status InferenceMethods::CudaSharedMemoryStatus(const inference::CudaSharedMemoryStatusRequest& request,
                                                      inference::CudaSharedMemoryStatusResponse& response) const {
  const auto found = RegionsOf(regions_, SharedRegion::Kind::kDevice, request.name());
  if (!found.ok()) return found.status();
  for (const SharedRegionPtr& each : *found) {
    const auto& region = static_cast<const DeviceRegion&>(*each);
    auto& status = (*response.mutable_regions())[region.name()];
    status.set_name(region.name());
    status.set_device_id(static_cast<uint64_t>(region.device()));
    status.set_byte_size(region.byte_size());
  }
  return absl::OkStatus();
}

absl::Status InferenceMethods::CudaSharedMemoryRegister(const inference::CudaSharedMemoryRegisterRequest& request,
                                                        inference::CudaSharedMemoryRegisterResponse&) {
  return regions_.RegisterDevice(request.name(), request.device_id(), request.raw_handle(), request.byte_size());
}

absl::Status InferenceMethods::CudaSharedMemoryUnregister(const inference::CudaSharedMemoryUnregisterRequest& request,
                                                          inference::CudaSharedMemoryUnregisterResponse&) {
  Unregister(regions_, SharedRegion::Kind::kDevice, request.name());
  return absl::OkStatus();
}

absl::Status InferenceMethods::TraceSetting(const inference::TraceSettingRequest& request,
                                            inference::TraceSettingResponse& response) const {
  if (!request.model_name().empty() && !repository_.Knows(request.model_name())) {
    return absl::NotFoundError(absl::StrCat("unknown model '", request.model_name(), "'"));
  }
  return AnswerTraceSettings(request, response, tracer_);
}

absl::Status InferenceMethods::LogSettings(const inference::LogSettingsRequest& request,
                                           inference::LogSettingsResponse& response) {
  return log_settings_.Update(request, response);
}

void InferenceMethods::ModelStatistics(const inference::ModelStatisticsRequest& request,
                                       inference::ModelStatisticsResponse& response, Done done) {
  auto read = [this, name = request.name(), version = request.version(), &response] {
    return ReadStatistics(repository_, name, version, response);
  };
  DoElsewhere(dispatcher_, std::move(read), done);
}

void InferenceMethods::RepositoryIndex(const inference::RepositoryIndexRequest& request,
                                       inference::RepositoryIndexResponse& response, Done done) {
  if (absl::Status status = CheckRepositoryName(request.repository_name()); !status.ok()) return done(status);
  auto read = [this, ready = request.ready(), &response] { return ReadIndex(repository_, ready, response); };
  DoElsewhere(dispatcher_, std::move(read), done);
}

void InferenceMethods::RepositoryModelLoad(inference::RepositoryModelLoadRequest request,
                                           inference::RepositoryModelLoadResponse&, Done done) {
  absl::Status status = CheckRepositoryName(request.repository_name());
  std::optional<std::string> config;
  std::optional<int64_t> rollback;
  ShadowOverrides shadow;
  FileContents files;
  for (auto& [key, value] : *request.mutable_parameters()) {
    if (!status.ok()) break;
    if (key == "config" && value.has_string_param()) {
      config = value.string_param();
    } else if (key == "config") {
      status = absl::InvalidArgumentError("the parameter 'config' of a load is no string");
    } else if (key == "rollback") {
      const auto version = ReadRollback(value);
      status = version.status();
      if (version.ok()) rollback = *version;
    } else if (std::ranges::find(ShadowParameters(), key) != ShadowParameters().end()) {
      const auto text = ReadShadowParameter(value);
      if (text) shadow.emplace(key, *text);
      if (!text) status = absl::InvalidArgumentError(absl::StrCat("the parameter '", key, "' of a load is no string"));
    } else if (key.starts_with(kFilePrefix) && value.has_bytes_param()) {
      files.emplace(key.substr(kFilePrefix.size()), std::move(*value.mutable_bytes_param()));
    } else if (key.starts_with(kFilePrefix)) {
      status = absl::InvalidArgumentError(
          absl::StrCat("the parameter '", key, "' of a load should be bytes, which JSON has as text in base64"));
    } else {
      status = absl::InvalidArgumentError(absl::StrCat("a load with the parameter '", key, "' is not offered"));
    }
  }
  if (status.ok() && rollback && (config || !shadow.empty() || !files.empty())) {
    status = absl::InvalidArgumentError("a load with the parameter 'rollback' has no other one");
  }
  if (status.ok() && readiness_.draining) status = absl::UnavailableError("the server is shutting down");
  if (!status.ok()) return done(std::move(status));
  if (rollback) return repository_.RollBack(request.model_name(), *rollback, std::move(done));
  // The configuration is read, and files are written, before the load waits for its turn.
  auto load = [this, name = request.model_name(), config = std::move(config), shadow = std::move(shadow),
               files = std::make_shared<const FileContents>(std::move(files)), done]() mutable {
    const absl::Status begun = Guarded([&] {
      repository_.Load(name, std::move(config), done, std::move(shadow), *files);
      return absl::OkStatus();
    });
    if (!begun.ok()) done(begun);
  };
  absl::Status posted = dispatcher_.Post(WorkLength::kLong, std::move(load));
  if (!posted.ok()) done(std::move(posted));
}

void InferenceMethods::RepositoryModelUnload(const inference::RepositoryModelUnloadRequest& request,
                                             inference::RepositoryModelUnloadResponse&, Done done) {
  absl::Status status = CheckRepositoryName(request.repository_name());
  auto dependents = Repository::Dependents::kStay;
  for (const auto& [key, value] : request.parameters()) {
    if (key == "unload_dependents" && value.has_bool_param()) {
      if (value.bool_param()) dependents = Repository::Dependents::kToo;
      continue;
    }
    status = absl::InvalidArgumentError(
        absl::StrCat("the parameter '", key, "' of an unload is not known, or is not of its type"));
  }
  if (!status.ok()) return done(std::move(status));
  repository_.Unload(request.model_name(), std::move(done), dependents);
}

}  // namespace hearth::server
