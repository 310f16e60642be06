#include "jit/device_parts.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include "jit/executor/background_compiler.h"
#include "jit/executor/shadow_runs.h"
#include "jit/fuser/runtime/kernel_images.h"
#include "jit/fuser/runtime/kernel_table.h"

namespace hearth {
namespace {

// The program that makes the code of kernels; empty if there is none.
std::string KernelCompiler() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path path = program.parent_path() / "hearth-codegen";
  return access(path.c_str(), X_OK) == 0 ? path.string() : "";
}

// What the tiers of all devices have in common; nothing where every call runs the baseline.
std::optional<TierSettings> CommonTierSettings(const CompilerOptions& options, const std::shared_ptr<Traffic>& traffic,
                                               const std::shared_ptr<DisposalQueue>& disposal) {
  if (options.tier == Tier::kBaseline) return std::nullopt;
  TierSettings settings;
  settings.disposal = disposal;
  const CodeCacheLimits limits{options.max_plans, static_cast<size_t>(options.plan_bytes)};
  settings.budget = std::make_shared<CodeCacheBudget>(limits);
  settings.cache.limits.bytes = limits.bytes;
  settings.cache.compile_after = options.compile_after;
  settings.exact_after = options.exact_after;
  settings.fail_guards = options.fail_guards;
  if (options.tier == Tier::kSpecialised || options.tier == Tier::kExact) {
    settings.forced = true;
    settings.forced_exact = options.tier == Tier::kExact;
    settings.forced_profile = options.profiled;
    settings.cache.compile_after = 1;
    return settings;
  }
  BackgroundCompiler::Settings compiler;
  compiler.processor_share = options.processor_share;
  compiler.serving = [traffic] { return traffic->IsServing(std::chrono::steady_clock::now()); };
  compiler.job_memory = options.job_memory;
  compiler.job_seconds = options.job_seconds;
  settings.compiler = std::make_shared<BackgroundCompiler>(compiler);
  return settings;
}

using ImagesByTarget = std::map<std::string, std::shared_ptr<fuser::KernelImages>>;

// Those of one device. `images` is null where it is the only one.
TierSettings TierSettingsOn(const DeviceParts& parts, TierSettings settings, const CompilerOptions& options,
                            ImagesByTarget* images) {
  settings.copies = std::make_shared<DerivedConstantBudget>(static_cast<size_t>(options.weight_copies));
  if (parts.gpu != nullptr) settings.capture = CaptureSettings{.gpu = parts.gpu, .streams = parts.streams};
  const std::string kernel_compiler = options.fuse ? KernelCompiler() : "";
  if (!kernel_compiler.empty()) {
    fuser::KernelTable::Settings kernels{.helper = kernel_compiler, .folder = options.cache_dir};
    if (parts.gpu != nullptr) {
      kernels.target = "cuda:" + parts.gpu->architecture();
      kernels.environment = {"HEARTH_NVRTC=" + parts.gpu->library_folder()};
      kernels.gpu = parts.gpu;
      if (images != nullptr) {
        auto& shared = (*images)[kernels.target];
        if (shared == nullptr) shared = std::make_shared<fuser::KernelImages>();
        kernels.shared = shared;
      }
    }
    settings.kernels = std::make_shared<fuser::KernelTable>(std::move(kernels));
  }
  if (!settings.forced && options.shadow_share > 0) {
    ShadowRuns::Settings shadow;
    shadow.share = options.shadow_share;
    shadow.streams = parts.streams;
    settings.shadow = std::make_shared<ShadowRuns>(std::move(shadow));
  }
  return settings;
}

// Of all devices, the first that fails is told: the process can do nothing about it but end.
std::function<void(const std::string&)> TellOnce(std::function<void(const std::string&)> tell) {
  return [tell = std::move(tell), told = std::make_shared<std::atomic<bool>>(false)](const std::string& what) {
    if (!told->exchange(true) && tell) tell(what);
  };
}

}  // namespace

std::vector<std::shared_ptr<const DeviceParts>> MakeDeviceParts(const std::vector<c10::Device>& devices,
                                                                const RuntimeOptions& options,
                                                                const std::shared_ptr<Traffic>& traffic,
                                                                const std::shared_ptr<DisposalQueue>& disposal) {
  const std::optional<TierSettings> common = CommonTierSettings(options.compiler, traffic, disposal);
  ImagesByTarget images;
  const auto on_failure = TellOnce(options.on_device_failure);
  std::vector<std::shared_ptr<const DeviceParts>> all;
  for (const c10::Device device : devices) {
    auto parts = std::make_shared<DeviceParts>();
    parts->device = device;
    parts->gpu = OpenGpu(device);
    if (parts->gpu != nullptr) {
      parts->health = std::make_shared<DeviceHealth>(
          device, [gpu = parts->gpu] { return gpu->Failure(); }, on_failure);
    }
    parts->streams = std::make_shared<StreamPool>(device);
    if (common)
      parts->tiers = TierSettingsOn(*parts, *common, options.compiler, devices.size() > 1 ? &images : nullptr);
    all.push_back(std::move(parts));
  }
  return all;
}

CompilerCounters CountersOf(const std::vector<std::shared_ptr<const DeviceParts>>& parts) {
  CompilerCounters counters;
  for (const auto& part : parts) {
    if (!part->tiers) continue;
    if (part->tiers->kernels != nullptr) {
      const fuser::KernelCounters kernels = part->tiers->kernels->counters();
      counters.kernels_made += kernels.made;
      counters.kernels_read += kernels.read;
      counters.kernels_failed += kernels.failed;
      counters.kernels_waiting += kernels.waiting;
    }
    if (part->tiers->shadow != nullptr) {
      const ShadowRuns::Counters shadow = part->tiers->shadow->counters();
      counters.shadow_runs += shadow.runs;
      counters.shadow_differences += shadow.differences;
    }
  }
  // One for all of them.
  const auto& tiers = parts.front()->tiers;
  if (tiers && tiers->compiler != nullptr) {
    const BackgroundCompiler::Counters now = tiers->compiler->counters();
    counters.queued = now.queued;
    counters.running = now.running;
    counters.done = now.done;
    counters.failed = now.failed;
    counters.cancelled = now.cancelled;
    counters.dropped = now.dropped + now.busy;
    counters.processor_seconds = now.processor_seconds;
  }
  return counters;
}

}  // namespace hearth
