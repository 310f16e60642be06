#include "server/daemon.h"

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/processors.h"
#include "server/api/call_environment.h"
#include "server/api/health_service.h"
#include "server/api/inference_methods.h"
#include "server/api/inference_service.h"
#include "server/api/log_settings.h"
#include "server/api/native_service.h"
#include "server/api/recordings.h"
#include "server/api/reflection_service.h"
#include "server/api/sequences.h"
#include "server/api/shared_memory.h"
#include "server/ensembles/ensemble.h"
#include "server/ports.h"
#include "server/repository/idle_unloader.h"
#include "server/repository/repository.h"
#include "server/repository/repository_poller.h"
#include "server/repository_settings.h"
#include "server/rest/probe_handler.h"
#include "server/rest/rest_handler.h"
#include "server/scheduling/dispatcher.h"
#include "server/security/grpc_connection_guard.h"
#include "server/server_log.h"
#include "server/settings.h"
#include "server/status/server_status.h"
#include "server/status/status_handler.h"
#include "server/status/status_service.h"
#include "server/telemetry/access_log.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/recent_errors.h"
#include "server/telemetry/tracer.h"

namespace hearth::server {
namespace {

using grpc::health::v1::HealthCheckResponse;

constexpr const char* kInferenceServiceName = "inference.GRPCInferenceService";
constexpr const char* kNativeServiceName = "hearth.v1.ModelService";
constexpr const char* kStatusServiceName = "hearth.v1.StatusService";

CompilerSample SampleOf(const CompilerCounters& counters) {
  return {counters.queued,
          counters.running,
          counters.done,
          counters.failed,
          counters.cancelled,
          counters.dropped,
          counters.processor_seconds,
          counters.shadow_runs,
          counters.shadow_differences,
          counters.kernels_made,
          counters.kernels_read,
          counters.kernels_failed,
          counters.kernels_waiting};
}

void AddPlans(const Model& model, ModelSample& sample) {
  const PlanCounts counts = model.plan_counts();
  sample.argument_specs = counts.specs;
  sample.plans = {counts.specialised, counts.exact};
  sample.plan_bytes = counts.bytes;
  sample.weight_copy_bytes = counts.copied_bytes;
  sample.recorded_bytes = counts.recorded_bytes;
  sample.plan_bailouts = counts.bailouts;
  sample.plan_exceptions = counts.plan_exceptions;
  sample.guard_failures = counts.guard_failures;
  std::ranges::copy(counts.calls, sample.calls.begin());
}

DispatcherOptions DispatcherOptionsOf(const config::Settings& settings, int64_t gpus) {
  const int64_t threads = settings.threads() > 0 ? settings.threads() : UsableProcessors();
  // On a GPU one computes while another one's tensors are on their way.
  const bool on_gpu = gpus > 0;
  const int64_t per_thread = on_gpu ? 2 : 1;
  return {.max_pending_per_model = settings.max_pending_requests(),
          .max_in_flight = settings.max_in_flight_requests(),
          // The other half of the threads is for messages that take no time.
          .max_long_works = std::max<int64_t>(threads / 2, 1),
          .max_runs = settings.max_running_requests() > 0 ? settings.max_running_requests() : threads * per_thread,
          .max_batches = on_gpu ? std::min<int64_t>(threads, 2 * gpus) : threads,
          // A graph is recorded for each size, and without one a GPU waits for its host.
          .pads_batches = on_gpu,
          .longest_wait = std::chrono::milliseconds(settings.max_queue_milliseconds()),
          .cache_bytes = static_cast<size_t>(settings.response_cache_byte_size())};
}

Repository::Options WithClientFiles(Repository::Options options, std::shared_ptr<ClientFilesStore> files) {
  options.client_files = std::move(files);
  return options;
}

SharedRegions::OpenDeviceMemory OpenDeviceMemoryOf(Runtime& runtime) {
  if (runtime.gpus().empty()) return nullptr;
  return [&runtime](int64_t device, const std::string& handle, int64_t byte_size) {
    return runtime.OpenSharedMemory(device, handle, byte_size);
  };
}

// Null where there is no reader.
std::function<GpuReading()> ReadingOf(const GpuReader* reader) {
  if (reader == nullptr) return nullptr;
  return [reader] { return reader->Read(); };
}

}  // namespace

// Members are in the order in which they are made; they go in the opposite one.
struct Daemon::Parts {
  Parts(const config::Settings& complete_settings, Runtime& runtime, std::unique_ptr<Tracer> made_tracer,
        std::unique_ptr<Mirrors> made_mirrors, std::shared_ptr<ClientFilesStore> client_files)
      : settings(complete_settings),
        tracer(std::move(made_tracer)),
        mirrors(std::move(made_mirrors)),
        repository(WithClientFiles(RepositoryOptionsOf(settings, *mirrors), std::move(client_files)), runtime,
                   SignatureFactory(), [this] { health.Update(); }),
        dispatcher(DispatcherOptionsOf(settings, static_cast<int64_t>(runtime.gpus().size())),
                   [&runtime](std::function<void()> work) { runtime.Post(std::move(work)); }),
        ensembles(EnsemblesOn(settings, runtime, repository, dispatcher, alarms)),
        regions(settings.allow_client_shm(), OpenDeviceMemoryOf(runtime)),
        recordings(runtime.memory_of_all()),
        environment{repository,     dispatcher,
                    regions,        runtime.memory_of_all(),
                    nullptr,        static_cast<size_t>(settings.max_request_bytes()),
                    &recent_errors, tracer.get(),
                    &recordings,    &sequences},
        log_settings(LogLevelsOf(settings), settings.log_file(), settings.log_format()),
        methods(dispatcher, repository, readiness, regions, log_settings, settings.id(), tracer.get()),
        inference(calls, environment, methods, streams),
        native(calls, environment),
        gpus(settings.allow_gpu_metrics() && settings.device().starts_with("cuda") ? GpuReader::Open() : nullptr),
        metrics([this] { return Samples(); }, [&runtime] { return SampleOf(runtime.compiler_counters()); },
                ReadingOf(gpus.get()), EndedGrpcConnections),
        status({repository, readiness, runtime, recent_errors, [this] { return Samples(); },
                [&runtime] { return SampleOf(runtime.compiler_counters()); }, settings.id(), settings.device(),
                ReadingOf(gpus.get())}),
        status_service(calls, dispatcher, status) {
    repository.ServeEnsembles(EnsemblesOf(ensembles));
    if (tracer != nullptr) metrics.ShowTraces([this] { return tracer->counts(); });
    metrics.ShowMemory([this] { return MemorySampleNow(); });
    metrics.ShowMirrors([this] {
      const MirrorCounts& counts = mirrors->counts();
      return MirrorSample{counts.files, counts.bytes, counts.failures};
    });
    metrics.ShowSequences([this] { return sequences.size(); });
    readiness.strict = settings.strict_readiness();
    calls.memory = runtime.memory_of_all();
    calls.send_time =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(settings.send_seconds()));
  }

  // Loads of ensembles use what goes before the repository.
  ~Parts() {
    poller.reset();
    idle_unloader.reset();
    repository.FinishLoading();
  }

  HealthCheckResponse::ServingStatus StatusOf(const std::string& service) const {
    const auto serving = [](bool ready) {
      return ready ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    };
    if (service.empty() || service == kInferenceServiceName || service == kNativeServiceName) {
      return serving(readiness.Ready(repository));
    }
    if (!repository.Knows(service)) return HealthCheckResponse::SERVICE_UNKNOWN;
    return serving(!readiness.draining && repository.CheckReady(service, "").ok());
  }

  std::vector<std::string> HealthNames() const {
    std::vector<std::string> names = repository.KnownModels();
    names.insert(names.begin(), {"", kInferenceServiceName, kNativeServiceName});
    return names;
  }

  std::vector<ModelSample> Samples() const {
    std::vector<ModelSample> samples;
    for (const VersionStatus& version : repository.Versions()) {
      ModelSample& sample = samples.emplace_back();
      sample.model = version.name;
      sample.version = version.version;
      if (version.statistics != nullptr) sample.statistics = version.statistics->snapshot();
      sample.ready = !readiness.draining && (version.state == ModelState::kReady || version.idle);
      if (version.serving == nullptr) continue;
      sample.loaded = true;
      sample.weight_bytes = version.serving->weight_bytes;
      sample.code_bytes = version.serving->model->code_bytes();
      AddPlans(*version.serving->model, sample);
    }
    return samples;
  }

  MemorySample MemorySampleNow() const {
    const Repository::IdleCounts& counts = repository.idle_counts();
    const MemoryBudget::Limits limits = repository.budget().limits();
    return {repository.budget().held(), limits.host,        limits.each_gpu, counts.unloaded_for_time,
            counts.unloaded_for_room,   counts.loaded_again};
  }

  absl::Status Listen();

  // Where metrics are not allowed.
  struct NoMetrics : prometheus::Collectable {
    std::vector<prometheus::MetricFamily> Collect() const override { return {}; }
  };

  const config::Settings settings;
  const std::unique_ptr<Tracer> tracer;  // null where nothing is traced
  Readiness readiness;
  CallEnvironment calls;
  // Before the repository, whose loading threads tell it of changes.
  HealthService health{calls, [this](const std::string& service) { return StatusOf(service); },
                       [this] { return HealthNames(); }};
  const std::unique_ptr<Mirrors> mirrors;
  Repository repository;
  std::unique_ptr<RepositoryPoller> poller;     // null unless model_control_mode is poll
  std::unique_ptr<IdleUnloader> idle_unloader;  // null unless idle_unload_seconds is above 0
  Dispatcher dispatcher;
  AlarmClock alarms;  // of ensembles
  const EnsembleEnvironment ensembles;
  std::unique_ptr<AccessLog> access_log;
  RecentErrors recent_errors;
  SharedRegions regions;
  Recordings recordings;
  Sequences sequences;
  RequestEnvironment environment;
  StreamRegistry streams;
  LogSettings log_settings;
  InferenceMethods methods;
  InferenceService inference;
  NativeService native;
  ReflectionService reflection{{kInferenceServiceName, kNativeServiceName, kStatusServiceName,
                                grpc::health::v1::Health::service_full_name(),
                                grpc::reflection::v1alpha::ServerReflection::service_full_name()}};
  const std::unique_ptr<const GpuReader> gpus;
  MetricsCollector metrics;
  NoMetrics no_metrics;
  ServerStatus status;
  StatusService status_service;
  std::promise<void> loaded;
  std::unique_ptr<Ports> ports;
};

absl::Status Daemon::Parts::Listen() {
  auto opened = Ports::Open(settings);
  if (!opened.ok()) return opened.status();
  ports = *std::move(opened);
  grpc::ServerBuilder builder;
  builder.RegisterService(&inference);
  builder.RegisterService(&native);
  builder.RegisterService(&status_service);
  builder.RegisterService(&health);
  builder.RegisterService(&reflection);
  // gRPC would make any number of bytes of a small compressed message (inflate.h).
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  const prometheus::Collectable& shown =
      settings.allow_metrics() ? static_cast<const prometheus::Collectable&>(metrics) : no_metrics;
  const auto probes = std::make_shared<ProbeHandler>(repository, readiness, shown);
  std::shared_ptr<HttpHandler> http = std::make_shared<RestHandler>(environment, methods, probes);
  if (settings.status_page()) http = std::make_shared<StatusHandler>(status, std::move(http));
  return ports->Serve(builder, std::move(http), probes);
}

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Daemon::~Daemon() = default;

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const config::Settings& settings, Runtime& runtime) {
  std::unique_ptr<Tracer> tracer;
  if (!settings.trace_endpoint().empty()) {
    auto made = Tracer::Create(
        {.endpoint = settings.trace_endpoint(), .rate = settings.trace_rate(), .service_name = settings.id()});
    if (!made.ok()) return made.status();
    tracer = *std::move(made);
  }
  auto mirrors = MirrorsOf(settings);
  if (!mirrors.ok()) return mirrors.status();
  auto client_files = ClientFilesOf(settings);
  if (!client_files.ok()) return client_files.status();
  auto parts =
      std::make_unique<Parts>(settings, runtime, std::move(tracer), *std::move(mirrors), *std::move(client_files));
  if (!settings.access_log().empty()) {
    auto log = AccessLog::Open(settings.access_log());
    if (!log.ok()) return log.status();
    parts->access_log = *std::move(log);
    parts->environment.access_log = parts->access_log.get();
  }
  absl::Status status = parts->Listen();
  if (status.ok()) status = parts->mirrors->FindModels({});
  if (status.ok() && ControlOf(settings) == ModelControl::kPoll) {
    RepositoryPoller::Fetch fetch;
    if (!parts->mirrors->empty()) {
      fetch = [&mirrors = *parts->mirrors](const std::stop_token& stop) { return mirrors.FetchAll(stop); };
    }
    parts->poller = std::make_unique<RepositoryPoller>(parts->repository, parts->mirrors->roots(),
                                                       std::chrono::duration<double>(settings.repository_poll_secs()),
                                                       std::move(fetch));
  }
  if (status.ok()) {
    status = parts->repository.LoadAll([parts = parts.get()] { parts->loaded.set_value(); },
                                       parts->poller == nullptr ? std::set<std::string>() : parts->poller->unsettled());
  }
  if (status.ok() && parts->poller != nullptr) parts->poller->Start();
  if (status.ok() && settings.idle_unload_seconds() > 0) {
    parts->idle_unloader = std::make_unique<IdleUnloader>(
        parts->repository, std::chrono::duration<double>(settings.idle_unload_seconds()));
  }
  if (!status.ok()) {
    if (parts->ports != nullptr) parts->ports->Stop(std::chrono::steady_clock::now());
    return status;
  }
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

std::optional<int> Daemon::grpc_port() const { return parts_->ports->grpc_port(); }

std::optional<int> Daemon::http_port() const { return parts_->ports->http_port(); }

std::optional<int> Daemon::metrics_port() const { return parts_->ports->metrics_port(); }

Daemon::Loaded Daemon::WaitUntilLoaded() {
  parts_->loaded.get_future().wait();
  return {static_cast<int>(parts_->repository.Serving().size()), parts_->repository.Failures()};
}

void Daemon::Reload() {
  parts_->ports->ReloadFiles();
  if (parts_->access_log == nullptr) return;
  if (const absl::Status status = parts_->access_log->Reopen(); !status.ok()) {
    ServerLog().error("{}; lines go on to the file that was open", std::string(status.message()));
  } else {
    ServerLog().info("the access log is reopened");
  }
}

void Daemon::Stop() {
  Parts& parts = *parts_;
  const auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(parts.settings.drain_seconds()));
  const auto end = std::chrono::steady_clock::now() + grace;
  ServerLog().info("stopping: {} requests in flight, at most {} s for them", parts.dispatcher.in_flight(),
                   parts.settings.drain_seconds());
  parts.readiness.draining = true;
  parts.poller.reset();
  parts.idle_unloader.reset();
  parts.repository.StopLoading();
  parts.dispatcher.StopAccepting();
  parts.health.Update();
  parts.streams.StopReading();
  parts.recordings.Stop();
  parts.health.Shutdown();
  parts.reflection.Shutdown();
  // Until then a call that comes hears that this server is unavailable; one that meets gRPC's shutdown is cancelled.
  parts.dispatcher.WaitUntilIdle(end);
  // What is left is for clients to do, who may be slow.
  const auto sent =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                             std::chrono::duration<double>(parts.settings.drain_send_seconds()));
  parts.ports->Stop(std::min(end, sent));
  // A call's callback may still be on its way out of the dispatcher.
  parts.dispatcher.WaitUntilIdle(std::chrono::steady_clock::now() + std::chrono::hours(1));
  if (parts.access_log != nullptr) parts.access_log->Flush();
}

}  // namespace hearth::server
