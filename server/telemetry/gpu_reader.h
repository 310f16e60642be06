// What the machine's GPUs do, read from NVIDIA's management library, which its driver brings. The library is opened
// when asked for, so that the program runs where there is none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::server {

// One GPU at one moment. What its driver does not tell is absent.
struct GpuSample {
  std::string uuid;                          // "GPU-5a1b..."
  std::string name;                          // "NVIDIA H200"; empty where the driver does not tell it
  std::optional<double> utilization;         // the share of the last moments in which it worked, 0 to 1
  std::optional<double> memory_total;        // bytes
  std::optional<double> memory_used;         // bytes, by all processes and the driver
  std::optional<double> power_usage;         // watts
  std::optional<double> power_limit;         // watts
  std::optional<double> energy_consumption;  // joules since the driver was loaded
  std::optional<double> temperature;         // degrees Celsius
};

// All GPUs of the machine at one moment.
struct GpuReading {
  std::vector<GpuSample> gpus;  // those that work
  uint64_t lost = 0;            // that the driver counts and does not reach, or that need a reset
};

// Thread-safe.
class GpuReader {
 public:
  // Null if the library is not there or finds no driver.
  static std::unique_ptr<GpuReader> Open(const char* library = "libnvidia-ml.so.1");
  ~GpuReader();

  // Of every GPU that the driver shows; those that this process may not use are left out. May take milliseconds.
  GpuReading Read() const;

 private:
  struct Library;
  explicit GpuReader(std::unique_ptr<const Library> library);

  std::unique_ptr<const Library> library_;
};

}  // namespace hearth::server
