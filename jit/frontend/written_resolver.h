// Finds what a file of TorchScript that people wrote defines and imports. Its definitions are those of the qualifier
// __torch__, so that a class Foo is __torch__.Foo, as torch.jit.script names it; a name may stand for a definition of
// the file or for what an import has bound it to; torch and math need no import.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "jit/frontend/archive_resolver.h"

namespace hearth {

class WrittenResolver final : public ArchiveResolver {
 public:
  WrittenResolver(std::shared_ptr<CompilationUnit> unit, std::shared_ptr<const Source> source);

  // Every function of the file that is to be compiled, declared, in order. Throws CompileError.
  std::vector<Function*> DeclareFunctions();

  // Resolver:
  SugaredValue ResolveQualified(std::string_view qualified_name) override;
  SugaredValue ResolveGlobal(std::string_view name) override;
  PythonMember ResolveMember(std::string_view module, std::string_view name) override;
  bool written() const override { return true; }

  TypePtr FindAnnotated(const std::string& name) override;

 private:
  // A dotted name with its first part as the file's imports mean it: "F.relu" is "torch.nn.functional.relu".
  std::string Canonical(std::string_view dotted);
  const tree::Tree& File();
  // Whether the file defines an exception class of that name.
  bool IsException(std::string_view name);
  std::string_view Intern(std::string text) { return *strings_.insert(std::move(text)).first; }

  std::unordered_map<std::string_view, std::string> imports_;  // bound name to what it means, dotted
  bool read_imports_ = false;
  std::unordered_set<std::string> strings_;
};

}  // namespace hearth
