#include "server/telemetry/gpu_reader.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace hearth::server {
namespace {

// As NVML's header has them; its functions keep their form under the names below.
using Device = void*;
constexpr int kSuccess = 0;

template <typename Function>
bool Find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

// What `function` says of the device, in units of `unit`.
template <typename Value>
std::optional<double> Ask(int (*function)(Device, Value*), Device device, double unit) {
  Value value{};
  if (function == nullptr || function(device, &value) != kSuccess) return std::nullopt;
  return static_cast<double>(value) * unit;
}

}  // namespace

struct GpuReader::Library {
  struct Memory {
    unsigned long long total, free, used;
  };
  struct Utilization {
    unsigned gpu, memory;  // percent
  };

  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*power_usage)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;

  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  // Whether all that cannot be done without is there.
  bool FindFunctions() {
    Find(handle, "nvmlDeviceGetMemoryInfo", memory);
    Find(handle, "nvmlDeviceGetUtilizationRates", utilization);
    Find(handle, "nvmlDeviceGetPowerUsage", power_usage);
    Find(handle, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
    Find(handle, "nvmlDeviceGetTotalEnergyConsumption", energy);
    return Find(handle, "nvmlInit_v2", init) && Find(handle, "nvmlShutdown", shutdown) &&
           Find(handle, "nvmlDeviceGetCount_v2", count) && Find(handle, "nvmlDeviceGetHandleByIndex_v2", device) &&
           Find(handle, "nvmlDeviceGetUUID", uuid);
  }
};

std::unique_ptr<GpuReader> GpuReader::Open(const char* library) {
  auto opened = std::make_unique<Library>();
  opened->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened->handle == nullptr || !opened->FindFunctions() || opened->init() != kSuccess) return nullptr;
  return std::unique_ptr<GpuReader>(new GpuReader(std::move(opened)));
}

GpuReader::GpuReader(std::unique_ptr<const Library> library) : library_(std::move(library)) {}

GpuReader::~GpuReader() { library_->shutdown(); }

std::vector<GpuSample> GpuReader::Read() const {
  std::vector<GpuSample> samples;
  unsigned count = 0;
  if (library_->count(&count) != kSuccess) return samples;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    std::array<char, 96> uuid{};
    // One that fell off its bus, or that this process may not use.
    if (library_->device(i, &device) != kSuccess) continue;
    if (library_->uuid(device, uuid.data(), uuid.size()) != kSuccess) continue;
    GpuSample& sample = samples.emplace_back();
    sample.uuid = uuid.data();
    if (Library::Memory memory{}; library_->memory != nullptr && library_->memory(device, &memory) == kSuccess) {
      sample.memory_total = static_cast<double>(memory.total);
      sample.memory_used = static_cast<double>(memory.used);
    }
    if (Library::Utilization use{};
        library_->utilization != nullptr && library_->utilization(device, &use) == kSuccess) {
      sample.utilization = use.gpu / 100.0;
    }
    sample.power_usage = Ask(library_->power_usage, device, 1e-3);
    sample.power_limit = Ask(library_->power_limit, device, 1e-3);
    sample.energy_consumption = Ask(library_->energy, device, 1e-3);
  }
  return samples;
}

}  // namespace hearth::server
