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
  methods_[type.get()].emplace(added->name(), added);
  return added;
}

Function* CompilationUnit::FindMethod(const c10::ClassType& type, const std::string& name) const {
  const auto of_type = methods_.find(&type);
  if (of_type == methods_.end()) return nullptr;
  const auto found = of_type->second.find(name);
  return found == of_type->second.end() ? nullptr : found->second;
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

torch::jit::Function* FindMethod(const c10::ClassType& type, const std::string& name) {
  // LibTorch looks a name up in all methods one by one, which is the quickest way where they are few.
  constexpr size_t kFew = 16;
  if (type.methods().size() <= kFew) return type.findMethod(name);
  // The unit of a class that has one is one of ours; a library's class has none.
  const auto unit = type.compilation_unit();
  if (unit == nullptr) return type.findMethod(name);
  return reinterpret_cast<const CompilationUnit*>(unit.get())->FindMethod(type, name);
}

}  // namespace hearth
