// The pickle machine: runs the program that a pickle is and gives the value it makes. It runs nothing but what this
// file lists: the opcodes that torch writes, and a fixed set of globals. It knows two dialects: what torch.jit.save
// writes (data.pkl, constants.pkl, debug records), and what torch.save writes for tensors and plain Python values.
//
// Any bytes are safe to read. Sizes, depth, indices and the bounds of every tensor are checked; a container cannot come
// to hold itself. What does not hold is an ArchiveError with the offset of the opcode.
//
// The algorithm is that of Python's pickletools, protocol 2: a stack, marks on it, and a memo.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type_base.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/archive/storage_table.h"

namespace hearth {

enum class PickleDialect { kTorchScript, kTorchSave };

struct PickleLimits {
  uint64_t max_bytes = uint64_t{1} << 29;
  uint64_t max_allocations = uint64_t{1} << 24;  // strings and containers
  uint32_t max_depth = 1000;                     // of containers within containers
};

struct PickleOptions {
  // What errors call the pickle: the file's name, and that of the record in it.
  std::string file;
  std::string record;
  PickleDialect dialect = PickleDialect::kTorchScript;
  // Whether tensors whose record is empty become tensors without data, on the device "meta".
  bool empty_records_as_meta = false;
  PickleLimits limits;
};

// What the machine asks for while it runs. The machine calls it from the thread that reads; exceptions pass through.
class PickleDelegate {
 public:
  virtual ~PickleDelegate() = default;
  // The type that a type tag names, e.g. "Dict[str, __torch__.Foo]".
  virtual c10::TypePtr ResolveType(std::string_view annotation) = 0;
  // The class, enum or C++ class of a qualified name, which begins with "__torch__.".
  virtual c10::TypePtr ResolveClass(const std::string& qualified_name) = 0;
  // The object of a class that a state makes: a dict of its attributes, or what the class's __setstate__ takes.
  virtual c10::IValue MakeObject(const c10::TypePtr& type, const c10::IValue& state) = 0;
};

// A delegate for pickles that name no types of an archive: type tags may name built-in types, classes are refused.
class PlainPickleDelegate : public PickleDelegate {
 public:
  c10::TypePtr ResolveType(std::string_view annotation) override;
  c10::TypePtr ResolveClass(const std::string& qualified_name) override;
  c10::IValue MakeObject(const c10::TypePtr& type, const c10::IValue& state) override;
};

// Runs the whole pickle. `storages` gives what its persistent ids name.
c10::IValue ReadPickle(std::string_view bytes, StorageTable& storages, PickleDelegate& delegate,
                       const PickleOptions& options = {});

}  // namespace hearth
