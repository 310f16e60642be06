// Compiles an archive's serialized code on demand: a class, named tuple, enum, interface or function is read from
// code/ the first time something names it, into the archive's CompilationUnit.
//
// Used by one thread while an archive loads. Holds the unit; the unit's Functions hold what they need of this importer
// until they are defined, so keep the importer until DefineAll.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/module/compilation_unit.h"
#include "jit/support/source_range.h"

namespace hearth {

class ArchiveResolver;
class WrittenResolver;

class SourceImporter {
 public:
  // Gives the text of a file under code/ by the qualified name it holds, "__torch__.a.b" for code/__torch__/a/b.py;
  // null if the archive has no such file.
  using SourceProvider = std::function<std::shared_ptr<const Source>(const std::string& qualifier)>;

  // `constants` is what CONSTANTS.cN means; it may be filled in after construction, but before any function is defined,
  // and must outlive the importer. `version` is the archive's, for operator upgraders.
  SourceImporter(std::shared_ptr<CompilationUnit> unit, SourceProvider provider,
                 const std::vector<c10::IValue>* constants, int64_t version);
  // For a file of TorchScript as people write it, by itself: functions, classes, named tuples, enums, interfaces.
  SourceImporter(std::shared_ptr<CompilationUnit> unit, std::shared_ptr<const Source> file);
  ~SourceImporter();
  SourceImporter(const SourceImporter&) = delete;
  SourceImporter& operator=(const SourceImporter&) = delete;

  // The type of that qualified name, declared with its attributes and its methods' schemas; bodies are emitted later.
  // Throws CompileError if the code does not hold it or is wrong.
  c10::NamedTypePtr LoadType(const std::string& qualified_name);
  // The free function of that qualified name, declared. Null if there is none.
  Function* LoadFunction(const std::string& qualified_name);
  // The functions of the file that people wrote, declared, in order.
  std::vector<Function*> LoadFunctions();
  // One of them; null if there is none of that name.
  Function* LoadFunctionOfFile(const std::string& name) { return LoadFunction("__torch__." + name); }
  // The type that an annotation or a pickle's type tag means ("Dict[str, List[int]]", "__torch__.M").
  c10::TypePtr ParseType(std::string_view annotation);

  // Emits every body of what has been loaded, and of what that loads in turn. Throws CompileError; operators that
  // this build does not have are collected over all bodies and reported together in one error of this kind.
  void DefineAll();

 private:
  std::unique_ptr<ArchiveResolver> resolver_;
  WrittenResolver* written_ = nullptr;  // resolver_, if people wrote the code
};

}  // namespace hearth
