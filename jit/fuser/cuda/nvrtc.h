// NVIDIA's compiler of CUDA C++, a library that is opened where code is asked for first. It needs no GPU.
#pragma once

#include <stdexcept>
#include <string>

#include "jit/fuser/cuda/cuda_target.h"

namespace hearth::fuser {

class NvrtcError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// There is no such library here, which says nothing about the source.
class NvrtcMissing : public NvrtcError {
 public:
  using NvrtcError::NvrtcError;
};

// The cubin of a source that includes nothing. The library is looked for as HEARTH_NVRTC says (a file or a folder of
// the environment), else by its name, in the program's folder and in ../lib/hearth beside that. Throws NvrtcMissing
// where it is not to be had, and NvrtcError with the compiler's messages where the source is malformed. Thread-safe.
std::string CompileWithNvrtc(const std::string& source, const CudaTarget& target);

}  // namespace hearth::fuser
