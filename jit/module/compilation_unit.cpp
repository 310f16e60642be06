#include "jit/module/compilation_unit.h"

#include <ATen/core/class_type.h>

#include <utility>

namespace hearth {

std::shared_ptr<CompilationUnit> CompilationUnit::Create() {
  return std::shared_ptr<CompilationUnit>(new CompilationUnit());
}

std::shared_ptr<torch::jit::CompilationUnit> CompilationUnit::opaque() {
  return {shared_from_this(), reinterpret_cast<torch::jit::CompilationUnit*>(this)};
}

Function* CompilationUnit::AddFunction(std::unique_ptr<Function> function) {
  Function* added = AddAnonymous(std::move(function));
  const bool is_new = function_by_name_.emplace(added->qualname().qualifiedName(), added).second;
  TORCH_CHECK(is_new, "function ", added->qualname().qualifiedName(), " is defined twice");
  return added;
}

Function* CompilationUnit::FindFunction(std::string_view qualified_name) const {
  auto found = function_by_name_.find(std::string(qualified_name));
  return found == function_by_name_.end() ? nullptr : found->second;
}

Function* CompilationUnit::AddMethod(const c10::ClassTypePtr& type, std::unique_ptr<Function> method) {
  Function* added = AddAnonymous(std::move(method));
  type->addMethod(added);
  return added;
}

Function* CompilationUnit::AddAnonymous(std::unique_ptr<Function> function) {
  functions_.push_back(std::move(function));
  return functions_.back().get();
}

void CompilationUnit::AddType(c10::NamedTypePtr type) {
  const std::string name = type->name()->qualifiedName();
  const bool is_new = type_by_name_.emplace(name, type).second;
  TORCH_CHECK(is_new, "type ", name, " is defined twice");
  types_.push_back(std::move(type));
}

c10::NamedTypePtr CompilationUnit::FindType(std::string_view qualified_name) const {
  auto found = type_by_name_.find(std::string(qualified_name));
  return found == type_by_name_.end() ? nullptr : found->second;
}

}  // namespace hearth
