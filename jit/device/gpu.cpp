#include "jit/device/gpu.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "jit/device/gpu_blas.h"
#include "jit/device/gpu_convolutions.h"

namespace hearth {
namespace {

constexpr char kLibrary[] = "libhearth_cuda.so";

// By the number of the GPU: set once, when it is opened first.
constexpr size_t kMostGpus = 256;
std::array<std::atomic<const GpuBlas*>, kMostGpus> opened_blas;
std::array<std::atomic<const GpuConvolutions*>, kMostGpus> opened_convolutions;

thread_local int best_convolutions_wanted = 0;

// What was opened for the device; null if nothing was.
template <typename T>
const T* OpenedFor(c10::Device device, const std::array<std::atomic<const T*>, kMostGpus>& opened) {
  const auto index = static_cast<size_t>(device.index());
  if (!device.is_cuda() || index >= opened.size()) return nullptr;
  return opened[index].load(std::memory_order_acquire);
}

void* FunctionOf(void* library, const char* name) {
  void* const function = dlsym(library, name);
  if (function == nullptr) throw std::runtime_error(std::string(kLibrary) + " is of another version: " + dlerror());
  return function;
}

// Where programs are built and where packages install them.
void* OpenLibrary() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string reasons;
  for (const std::filesystem::path& folder : {program, program.parent_path() / "lib" / "hearth"}) {
    const std::filesystem::path file = folder / kLibrary;
    if (!std::filesystem::exists(file)) continue;
    if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    reasons += std::string(": ") + dlerror();
  }
  throw std::runtime_error(std::string(kLibrary) + " could not be loaded" +
                           (reasons.empty() ? ": it is not beside the program nor in ../lib/hearth" : reasons));
}

}  // namespace

std::shared_ptr<Gpu> OpenGpu(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  using Make = Gpu*(int device);
  using MakeBlas = GpuBlas*(int device);
  using MakeConvolutions = GpuConvolutions*(int device);
  // Stays open: what it made ends whenever it does.
  void* const library = OpenLibrary();
  auto* make = reinterpret_cast<Make*>(FunctionOf(library, "hearth_make_gpu"));
  auto* make_blas = reinterpret_cast<MakeBlas*>(FunctionOf(library, "hearth_gpu_blas"));
  auto* make_convolutions = reinterpret_cast<MakeConvolutions*>(FunctionOf(library, "hearth_gpu_convolutions"));
  std::shared_ptr<Gpu> gpu(make(device.index()));
  const auto index = static_cast<size_t>(device.index());
  opened_blas.at(index).store(make_blas(device.index()), std::memory_order_release);
  opened_convolutions.at(index).store(make_convolutions(device.index()), std::memory_order_release);
  return gpu;
}

const GpuBlas* BlasOf(c10::Device device) { return OpenedFor(device, opened_blas); }

BestConvolutions::BestConvolutions() { ++best_convolutions_wanted; }
BestConvolutions::~BestConvolutions() { --best_convolutions_wanted; }
bool BestConvolutions::AreWanted() { return best_convolutions_wanted > 0; }

const GpuConvolutions* ConvolutionsOf(c10::Device device) { return OpenedFor(device, opened_convolutions); }

}  // namespace hearth
