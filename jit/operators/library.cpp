#include "jit/operators/library.h"

#include <c10/core/CPUAllocator.h>
#include <dlfcn.h>

#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/operators/registry.h"

namespace hearth {
namespace {

// A Python extension names libtorch_python among its needs, which in turn expects an interpreter's symbols. Opening
// both beforehand makes the loader find them by name.
void OpenPythonLibraries() {
  const std::string folder = LibTorchFolder();
  std::vector<std::string> versions;
  std::smatch match;
  if (std::regex_search(folder, match, std::regex("/python(3\\.[0-9]+)/"))) {
    versions.push_back(match[1]);
  } else {
    versions = {"3.11", "3.12", "3.13", "3.10"};
  }
  for (const std::string& version : versions) {
    const std::string library = "libpython" + version + ".so.1.0";
    if (dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr) break;
  }
  dlopen((folder + "/libtorch_python.so").c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

std::shared_mutex& LibraryMutex() {
  static std::shared_mutex mutex;
  return mutex;
}

}  // namespace

OperatorReader::OperatorReader() : lock_(LibraryMutex()) {}

std::string LibTorchFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&c10::GetCPUAllocator), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

void LoadOperatorLibrary(const std::string& path) {
  // An open library registers nothing when it is opened again, so models that are loading need not be waited for.
  if (void* open = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(open);
    return;
  }
  const std::unique_lock lock(LibraryMutex());
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    OpenPythonLibraries();
    handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  }
  if (handle == nullptr) {
    const char* reason = dlerror();
    throw std::runtime_error("operator library " + path + " could not be loaded: " + (reason ? reason : "unknown"));
  }
  OperatorRegistry::Global().Refresh();
}

}  // namespace hearth
