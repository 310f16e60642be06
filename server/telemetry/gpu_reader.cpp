#include "server/telemetry/gpu_reader.h"

#include <dlfcn.h>

#include <array>
#include <utility>

namespace hearth::server {
namespace {

// As NVML's header has them; its functions keep their form under the names below.
using Device = void*;
constexpr int kSuccess = 0;
constexpr int kNoPermission = 4;
constexpr int kLost = 15;
constexpr int kResetRequired = 16;
constexpr int kSensorOfGpu = 0;
constexpr size_t kMostText = 96;  // of a name or an identifier, with its end

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

// What `function` says of the device in words; empty if it says nothing.
std::string AskText(int (*function)(Device, char*, unsigned), Device device) {
  std::array<char, kMostText> text{};
  if (function == nullptr || function(device, text.data(), text.size()) != kSuccess) return "";
  return text.data();
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
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*power_usage)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;

  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }

  // Whether all that cannot be done without is there.
  bool FindFunctions() {
    Find(handle, "nvmlDeviceGetName", name);
    Find(handle, "nvmlDeviceGetMemoryInfo", memory);
    Find(handle, "nvmlDeviceGetUtilizationRates", utilization);
    Find(handle, "nvmlDeviceGetPowerUsage", power_usage);
    Find(handle, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
    Find(handle, "nvmlDeviceGetTotalEnergyConsumption", energy);
    Find(handle, "nvmlDeviceGetTemperature", temperature);
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

GpuReading GpuReader::Read() const {
  GpuReading reading;
  unsigned count = 0;
  if (library_->count(&count) != kSuccess) return reading;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (const int opened = library_->device(i, &device); opened != kSuccess) {
      // One that fell off its bus is told by more than one code.
      if (opened != kNoPermission) ++reading.lost;
      continue;
    }
    GpuSample sample;
    sample.uuid = AskText(library_->uuid, device);
    Library::Memory memory{};
    const int asked = library_->memory == nullptr ? kNoPermission : library_->memory(device, &memory);
    // The driver may still know the name of one that has been lost since.
    if (sample.uuid.empty() || asked == kLost || asked == kResetRequired) {
      ++reading.lost;
      continue;
    }
    if (asked == kSuccess) {
      sample.memory_total = static_cast<double>(memory.total);
      sample.memory_used = static_cast<double>(memory.used);
    }
    sample.name = AskText(library_->name, device);
    if (Library::Utilization use{};
        library_->utilization != nullptr && library_->utilization(device, &use) == kSuccess) {
      sample.utilization = use.gpu / 100.0;
    }
    sample.power_usage = Ask(library_->power_usage, device, 1e-3);
    sample.power_limit = Ask(library_->power_limit, device, 1e-3);
    sample.energy_consumption = Ask(library_->energy, device, 1e-3);
    if (unsigned degrees = 0;
        library_->temperature != nullptr && library_->temperature(device, kSensorOfGpu, &degrees) == kSuccess) {
      sample.temperature = degrees;
    }
    reading.gpus.push_back(std::move(sample));
  }
  return reading;
}

}  // namespace hearth::server
