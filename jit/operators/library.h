// Loads a shared library that registers operators or classes with LibTorch, such as torchvision's _C.so.
#pragma once

#include <shared_mutex>
#include <string>

namespace hearth {

// The folder that LibTorch's own libraries were loaded from, without a trailing slash.
std::string LibTorchFolder();

// Opens the library for the life of the process; nothing happens if it is open already. A Python extension works too:
// the interpreter's library, which such a file names among its needs, is opened first and never initialised. Waits
// until no OperatorReader is alive, and thread-safe otherwise. Throws std::runtime_error that says which library and
// why.
void LoadOperatorLibrary(const std::string& path);

// While one is alive no library is loaded: LibTorch's tables of classes have no lock of their own.
class OperatorReader {
 public:
  OperatorReader();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace hearth
