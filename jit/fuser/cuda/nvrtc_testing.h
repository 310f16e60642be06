// For tests: NVRTC where this machine has it, beside LibTorch perhaps.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "jit/fuser/cuda/nvrtc.h"

namespace hearth::fuser {

// Lets the library, and programs that the test starts, find NVRTC where LibTorch's companions are installed.
inline void LookForNvrtcBesideLibTorch() {
  void* torch = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  char folder[4096];
  if (torch == nullptr || dlinfo(torch, RTLD_DI_ORIGIN, folder) != 0) return;
  const std::filesystem::path companions = std::filesystem::path(folder) / "../../nvidia/cu13/lib";
  if (std::filesystem::exists(companions)) setenv("HEARTH_NVRTC", companions.c_str(), /*overwrite=*/0);
}

// Why there is no NVRTC; empty where there is one.
inline std::string ProblemWithNvrtc() {
  LookForNvrtcBesideLibTorch();
  try {
    CompileWithNvrtc("", CudaTarget::OfText("cuda:sm_90"));
    return "";
  } catch (const NvrtcError& error) {
    return error.what();
  }
}

}  // namespace hearth::fuser
