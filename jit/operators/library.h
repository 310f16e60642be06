// Loads a shared library that registers operators or classes with LibTorch, such as torchvision's _C.so.
#pragma once

#include <string>

namespace hearth {

// The folder that LibTorch's own libraries were loaded from, without a trailing slash.
std::string LibTorchFolder();

// Opens the library for the life of the process. A Python extension works too: the interpreter's library, which such a
// file names among its needs, is opened first and never initialised. Call before the models that need it are loaded;
// not thread-safe with loading. Throws std::runtime_error that says which library and why.
void LoadOperatorLibrary(const std::string& path);

}  // namespace hearth
