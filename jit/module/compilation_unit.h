// Everything one archive's code defines: sources, functions, class types. One unit an archive, so that classes of the
// same name in two versions or models stay different types.
//
// Built by one thread while the archive loads, read-only from then on. ClassTypes refer to the unit weakly and to its
// Functions by plain pointer: whoever runs a model's code holds the unit.
#pragma once

#include <ATen/core/jit_type.h>
#include <ATen/core/qualified_name.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/module/function.h"
#include "jit/support/source_range.h"

namespace torch::jit {
struct CompilationUnit;
}

namespace hearth {

class CompilationUnit : public std::enable_shared_from_this<CompilationUnit> {
 public:
  static std::shared_ptr<CompilationUnit> Create();

  // This unit under the type that c10::ClassType and c10::ivalue::Object want for identity and lifetime. Never
  // dereferenced as what it says it is.
  std::shared_ptr<torch::jit::CompilationUnit> opaque();

  // Free functions. The name must be new.
  Function* AddFunction(std::unique_ptr<Function> function);
  Function* FindFunction(std::string_view qualified_name) const;
  // A method: owned here, added to its class.
  Function* AddMethod(const c10::ClassTypePtr& type, std::unique_ptr<Function> method);
  // Null if the class, one of this unit, has no such method.
  Function* FindMethod(const c10::ClassType& type, const std::string& name) const;
  // A function that has no name to be found by (a closure's body).
  Function* AddAnonymous(std::unique_ptr<Function> function);

  // Class, interface, named tuple and enum types, by qualified name.
  void AddType(c10::NamedTypePtr type);
  c10::NamedTypePtr FindType(std::string_view qualified_name) const;

  const std::vector<std::unique_ptr<Function>>& functions() const { return functions_; }
  const std::vector<c10::NamedTypePtr>& types() const { return types_; }

  void AddSource(std::shared_ptr<const Source> source) { sources_.push_back(std::move(source)); }
  const std::vector<std::shared_ptr<const Source>>& sources() const { return sources_; }

 private:
  CompilationUnit() = default;

  std::vector<std::shared_ptr<const Source>> sources_;
  std::vector<std::unique_ptr<Function>> functions_;  // free functions and methods, in order of declaration
  std::unordered_map<std::string, Function*> function_by_name_;
  std::unordered_map<const c10::ClassType*, std::unordered_map<std::string, Function*>> methods_;
  std::vector<c10::NamedTypePtr> types_;
  std::unordered_map<std::string, c10::NamedTypePtr> type_by_name_;
};

// The class's method, or null: ClassType::findMethod in time that does not grow with the number of methods. For any
// class of an archive or a library.
torch::jit::Function* FindMethod(const c10::ClassType& type, const std::string& name);

}  // namespace hearth
