// Makes a module of a TorchScript archive: reads version, constants and the pickled module, has the front end compile
// the classes that they name, and builds the tree of objects, its weights on the wanted device.
//
// Each archive gets a CompilationUnit of its own. The objects refer to it weakly, so whoever keeps the module keeps the
// unit. CPU weights are views of the mapped file and keep it alive.
//
// Runs on the calling thread; several imports may run at once. Errors: FileError if the file cannot be read;
// ArchiveError if it is not a sound archive, or is another kind of file (the message says which); CompileError if its
// code does not compile; whatever the runner throws when a __setstate__ raises.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/archive/mapping.h"
#include "jit/archive/zip_reader.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

// Runs a function of the archive's unit to its end. The importer knows no interpreter, but quantized modules unpack
// their weights in code (__setstate__) while they are loaded.
using FunctionRunner =
    std::function<c10::IValue(CompilationUnit& unit, Function& function, std::vector<c10::IValue> arguments)>;

struct ImportOptions {
  c10::Device device = c10::Device(c10::kCPU);
  FunctionRunner run;
};

struct ImportedModule {
  c10::intrusive_ptr<c10::ivalue::Object> object;
  std::shared_ptr<CompilationUnit> unit;
  int64_t version = 0;  // of the archive's operators, for what depends on it
  std::shared_ptr<const ZipReader> archive;
};

// Every function of the unit is defined when this returns.
ImportedModule ImportModule(std::shared_ptr<const Mapping> file, const ImportOptions& options);

// Name and text of every file of code in the archive, in the archive's order.
std::vector<std::pair<std::string, std::string>> ReadSources(const ZipReader& archive);

}  // namespace hearth
