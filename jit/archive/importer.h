// From an archive's bytes to a module object and the CompilationUnit that its code was compiled into.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/module/compilation_unit.h"

namespace hearth {

struct ImportOptions {
  // Map the file where it lies instead of taking its bytes into sealed memory. Only right when nobody overwrites it.
  bool map_file_in_place = false;
  // Where the tensors are put. On the CPU they are views of the archive's bytes.
  c10::Device device = c10::Device(c10::kCPU);
};

struct ImportedModule {
  std::shared_ptr<CompilationUnit> unit;
  c10::intrusive_ptr<c10::ivalue::Object> module;  // of a class of `unit`, which it holds weakly
  // The files under code/ that were compiled, name and text in the order of the archive.
  std::vector<std::pair<std::string, std::shared_ptr<const Source>>> sources;
  uint64_t weight_bytes = 0;  // of all storages, shared ones counted once
};

// Runs a method of `unit` while the archive loads (an object's __setstate__); the function is declared, maybe not yet
// defined. Gives the result.
using MethodRunner =
    std::function<c10::IValue(CompilationUnit& unit, Function& function, std::vector<c10::IValue> arguments)>;

// Every body of the archive's code that the module can reach is emitted when this returns. Throws ArchiveError for
// bytes that are not a sound archive, CompileError for code that does not compile, and what `runner` throws.
ImportedModule ImportArchive(const std::string& path, const ImportOptions& options, const MethodRunner& runner);

}  // namespace hearth
