#include "jit/fuser/cuda/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

namespace hearth::fuser {
namespace {

constexpr const char* kFileNames[] = {"libnvrtc.so.13", "libnvrtc.so"};

// The part of nvrtc.h that is used; the library's interface is stable within its major version.
using Program = void*;
enum Result : int { kSuccess = 0 };

class Nvrtc {
 public:
  // Opened once; a failure is found again by whoever asks next.
  static const Nvrtc& Get() {
    static const Nvrtc nvrtc;
    return nvrtc;
  }

  Result (*create)(Program*, const char* source, const char* name, int num_headers, const char* const* headers,
                   const char* const* include_names) = nullptr;
  Result (*destroy)(Program*) = nullptr;
  Result (*compile)(Program, int num_options, const char* const* options) = nullptr;
  Result (*get_cubin_size)(Program, size_t*) = nullptr;
  Result (*get_cubin)(Program, char*) = nullptr;
  Result (*get_log_size)(Program, size_t*) = nullptr;
  Result (*get_log)(Program, char*) = nullptr;
  const char* (*get_error)(Result) = nullptr;

  void Check(Result result, const char* what) const {
    if (result != kSuccess) throw NvrtcError(std::string(what) + ": " + get_error(result));
  }

 private:
  Nvrtc() {
    library_ = Open();
    Find("nvrtcCreateProgram", &create);
    Find("nvrtcDestroyProgram", &destroy);
    Find("nvrtcCompileProgram", &compile);
    Find("nvrtcGetCUBINSize", &get_cubin_size);
    Find("nvrtcGetCUBIN", &get_cubin);
    Find("nvrtcGetProgramLogSize", &get_log_size);
    Find("nvrtcGetProgramLog", &get_log);
    Find("nvrtcGetErrorString", &get_error);
  }

  static std::vector<std::filesystem::path> Candidates() {
    std::vector<std::filesystem::path> candidates;
    if (const char* given = std::getenv("HEARTH_NVRTC"); given != nullptr && *given != '\0') {
      if (!std::filesystem::is_directory(given)) return {given};
      for (const char* name : kFileNames) candidates.push_back(std::filesystem::path(given) / name);
      return candidates;
    }
    std::error_code ignored;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const char* name : kFileNames) candidates.emplace_back(name);
    for (const char* name : kFileNames) candidates.push_back(program / name);
    for (const char* name : kFileNames) candidates.push_back(program / "../lib/hearth" / name);
    return candidates;
  }

  static void* Open() {
    std::string problem;
    for (const std::filesystem::path& candidate : Candidates()) {
      if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
      if (problem.empty()) problem = dlerror();
    }
    throw NvrtcMissing("no code for CUDA: " + std::string(kFileNames[0]) + " could not be loaded: " + problem);
  }

  template <class Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    if (*function == nullptr) throw NvrtcMissing(std::string("no code for CUDA: NVRTC has no function ") + name);
  }

  void* library_ = nullptr;
};

// A program that is destroyed at the end.
class CudaProgram {
 public:
  CudaProgram(const Nvrtc& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    nvrtc_.Check(nvrtc_.create(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr), "NVRTC");
  }
  ~CudaProgram() { nvrtc_.destroy(&program_); }
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  void Compile(const CudaTarget& target) {
    const std::string architecture = "--gpu-architecture=" + target.architecture();
    // No product and sum are fused that the kernel does not fuse.
    const char* const options[] = {architecture.c_str(), "--std=c++17", "--fmad=false", "--disable-warnings"};
    const Result result = nvrtc_.compile(program_, static_cast<int>(std::size(options)), options);
    if (result != kSuccess) throw NvrtcError("NVRTC: " + std::string(nvrtc_.get_error(result)) + "\n" + Log());
  }

  std::string Cubin() const {
    size_t size = 0;
    nvrtc_.Check(nvrtc_.get_cubin_size(program_, &size), "NVRTC");
    std::string cubin(size, '\0');
    nvrtc_.Check(nvrtc_.get_cubin(program_, cubin.data()), "NVRTC");
    return cubin;
  }

 private:
  std::string Log() const {
    size_t size = 0;
    if (nvrtc_.get_log_size(program_, &size) != kSuccess || size == 0) return "";
    std::string log(size, '\0');
    nvrtc_.get_log(program_, log.data());
    // Its end is a zero.
    log.pop_back();
    return log;
  }

  const Nvrtc& nvrtc_;
  Program program_ = nullptr;
};

}  // namespace

std::string CompileWithNvrtc(const std::string& source, const CudaTarget& target) {
  CudaProgram program(Nvrtc::Get(), source);
  program.Compile(target);
  return program.Cubin();
}

}  // namespace hearth::fuser
