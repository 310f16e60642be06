// Values in files that torch.save wrote and torch.load reads: tensors, numbers, strings, None, lists, tuples, dicts.
//
// Reading never runs anything that the file names (see pickle.h); lists and dicts get the element types that what is in
// them has. The file's bytes are taken first, so that it may change afterwards. Writing is for
// torch.load(path, weights_only=True): objects become dicts of their attributes, enums their values, named tuples plain
// ones; tensors that share a storage, and containers that are in the value twice, are so again when loaded. A file
// appears whole or not at all.
//
// Errors: FileError if the file cannot be read or written, ArchiveError if it is something else, or if the value holds
// something that has no such form (a future, a generator, a C++ object). Thread-safe.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <string>

#include "jit/archive/mapping.h"

namespace hearth {

c10::IValue ReadSavedFile(const std::string& path);
// The same for a file whose bytes are there already.
c10::IValue ReadSavedMapping(std::shared_ptr<const Mapping> file);
void WriteSavedFile(const c10::IValue& value, const std::string& path);

}  // namespace hearth
