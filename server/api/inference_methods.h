// What the methods of GRPCInferenceService do, but for inferences (infer_task.h), without a transport: each takes the
// protocol's request message and fills its response. gRPC and REST carry the same methods.
//
// Those that give their status are short look-ups that wait for nothing. Those that take `done` may have to wait or
// work for long; the work is done on a thread of the runtime's pool or of the repository's. `done` is called once, on
// any thread, perhaps before the method returns; the response must be there until then, the request only until the
// method returns. Thread-safe. May throw std::bad_alloc where they give their status, so carriers call them through
// Guarded (guarded.h); what goes wrong on other threads reaches `done`.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "proto/inference/service.pb.h"
#include "server/api/log_settings.h"
#include "server/api/readiness.h"
#include "server/api/shared_memory.h"
#include "server/repository/repository.h"
#include "server/scheduling/dispatcher.h"
#include "server/telemetry/tracer.h"

namespace hearth::server {

class InferenceMethods {
 public:
  using Done = std::function<void(absl::Status)>;

  // All outlive the methods. `server_name` is what ServerMetadata tells; `tracer` is null where nothing is
  // traced.
  InferenceMethods(Dispatcher& dispatcher, Repository& repository, const Readiness& readiness, SharedRegions& regions,
                   server::LogSettings& log_settings, std::string server_name, Tracer* tracer = nullptr)
      : dispatcher_(dispatcher),
        repository_(repository),
        readiness_(readiness),
        regions_(regions),
        log_settings_(log_settings),
        server_name_(std::move(server_name)),
        tracer_(tracer) {}

  absl::Status ServerLive(const inference::ServerLiveRequest& request, inference::ServerLiveResponse& response) const;
  absl::Status ServerReady(const inference::ServerReadyRequest& request,
                           inference::ServerReadyResponse& response) const;
  absl::Status ServerMetadata(const inference::ServerMetadataRequest& request,
                              inference::ServerMetadataResponse& response) const;
  // A model that is not there is not ready, one that is idle is; kInvalidArgument for a version that is no number.
  absl::Status ModelReady(const inference::ModelReadyRequest& request, inference::ModelReadyResponse& response) const;
  absl::Status SystemSharedMemoryStatus(const inference::SystemSharedMemoryStatusRequest& request,
                                        inference::SystemSharedMemoryStatusResponse& response) const;
  absl::Status SystemSharedMemoryRegister(const inference::SystemSharedMemoryRegisterRequest& request,
                                          inference::SystemSharedMemoryRegisterResponse& response);
  absl::Status SystemSharedMemoryUnregister(const inference::SystemSharedMemoryUnregisterRequest& request,
                                            inference::SystemSharedMemoryUnregisterResponse& response);
  absl::Status CudaSharedMemoryStatus(const inference::CudaSharedMemoryStatusRequest& request,
                                      inference::CudaSharedMemoryStatusResponse& response) const;
  absl::Status CudaSharedMemoryRegister(const inference::CudaSharedMemoryRegisterRequest& request,
                                        inference::CudaSharedMemoryRegisterResponse& response);
  absl::Status CudaSharedMemoryUnregister(const inference::CudaSharedMemoryUnregisterRequest& request,
                                          inference::CudaSharedMemoryUnregisterResponse& response);
  // kNotFound for a model that is not known; else see trace_settings.h.
  absl::Status TraceSetting(const inference::TraceSettingRequest& request,
                            inference::TraceSettingResponse& response) const;
  // See log_settings.h.
  absl::Status LogSettings(const inference::LogSettingsRequest& request, inference::LogSettingsResponse& response);

  // Of a model: the statuses of Repository::Find. One that is idle is loaded again first.
  void ModelMetadata(const inference::ModelMetadataRequest& request, inference::ModelMetadataResponse& response,
                     Done done);
  void ModelConfig(const inference::ModelConfigRequest& request, inference::ModelConfigResponse& response, Done done);
  void ModelStatistics(const inference::ModelStatisticsRequest& request, inference::ModelStatisticsResponse& response,
                       Done done);
  void RepositoryIndex(const inference::RepositoryIndexRequest& request, inference::RepositoryIndexResponse& response,
                       Done done);
  // Takes the request, which may hold large files: they are let go of once they are on disk.
  void RepositoryModelLoad(inference::RepositoryModelLoadRequest request,
                           inference::RepositoryModelLoadResponse& response, Done done);
  void RepositoryModelUnload(const inference::RepositoryModelUnloadRequest& request,
                             inference::RepositoryModelUnloadResponse& response, Done done);

 private:
  // Hands the version to `describe`; its model is loaded again first where it is idle.
  void WithVersion(const std::string& name, const std::string& version, std::function<void(const Servable&)> describe,
                   const Done& done);

  Dispatcher& dispatcher_;
  Repository& repository_;
  const Readiness& readiness_;
  SharedRegions& regions_;
  server::LogSettings& log_settings_;
  const std::string server_name_;
  Tracer* const tracer_;
};

}  // namespace hearth::server
