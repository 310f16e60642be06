#include "jit/device/gpu.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hearth {
namespace {

constexpr char kLibrary[] = "libhearth_cuda.so";

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
  // Stays open: what it made ends whenever it does.
  auto* make = reinterpret_cast<Make*>(dlsym(OpenLibrary(), "hearth_make_gpu"));
  if (make == nullptr) throw std::runtime_error(std::string(kLibrary) + " is of another version: " + dlerror());
  return std::shared_ptr<Gpu>(make(device.index()));
}

}  // namespace hearth
