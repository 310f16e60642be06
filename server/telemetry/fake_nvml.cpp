// For tests: a library with the functions of NVIDIA's that GpuReader calls. There are five GPUs: one that tells all,
// one that cannot be opened, one that tells of nothing but its memory, one that was lost after it was opened, and one
// that this process may not use.
#include <cstdio>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kLost = 15;

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};

unsigned NumberOf(void* device) { return *static_cast<unsigned*>(device); }
int OnlyFirst(void* device) { return NumberOf(device) == 0 ? kSuccess : kNotSupported; }

}  // namespace

extern "C" {
int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 5;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static unsigned numbers[] = {0, 1, 2, 3, 4};
  *device = &numbers[index];
  if (index == 4) return kNoPermission;
  return index == 1 ? kLost : kSuccess;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%u", NumberOf(device));
  return kSuccess;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "Fake %u", NumberOf(device));
  return OnlyFirst(device);
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  *memory = {1000, 400, 600};
  return NumberOf(device) == 3 ? kLost : kSuccess;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* use) {
  *use = {25, 50};
  return OnlyFirst(device);
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 150500;
  return OnlyFirst(device);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  *milliwatts = 700000;
  return OnlyFirst(device);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = 2500;
  return OnlyFirst(device);
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  *degrees = 61;
  return sensor == 0 ? OnlyFirst(device) : kNotSupported;
}
}
