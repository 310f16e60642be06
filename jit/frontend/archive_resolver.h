// Finds and declares what an archive's code defines: files are parsed, classes and functions declared, each the first
// time that something names it. What SourceImporter is made of; see there for lifetimes and threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/frontend/resolver.h"
#include "jit/frontend/source_importer.h"
#include "jit/frontend/tree.h"

namespace hearth {

class ArchiveResolver : public Resolver {
 public:
  ArchiveResolver(std::shared_ptr<CompilationUnit> unit, SourceImporter::SourceProvider provider,
                  const std::vector<c10::IValue>* constants, int64_t version);

  // Resolver:
  TypePtr ResolveType(const tree::Expr& annotation) override;
  SugaredValue ResolveQualified(std::string_view qualified_name) override;
  const std::vector<c10::IValue>& constants() const override;
  OperatorTable& operators() override { return upgrades() ? old_operators_ : operators_; }
  CompilationUnit& unit() override { return *unit_; }

  // Null if the code does not define it.
  c10::NamedTypePtr FindType(const std::string& qualified_name);
  // What an annotation names that is no builtin type; null if nothing.
  virtual TypePtr FindAnnotated(const std::string& name) { return FindType(name); }
  Function* FindFunction(const std::string& qualified_name);
  // `range` is where the text stands, for errors; its source may be null.
  TypePtr ParseAnnotation(std::string_view text, const SourceRange& range);

  // A function of that definition, declared: its body is emitted when it is asked for.
  std::unique_ptr<Function> DeclareFunction(const std::string& qualified_name, const tree::FunctionDef& definition);
  // The same for one whose first parameter is an object of type `self`.
  std::unique_ptr<Function> DeclareMethod(const std::string& qualified_name, const tree::FunctionDef& definition,
                                          const TypePtr& self);
  std::unique_ptr<Function> DeclareHook(const std::string& qualified_name, const tree::FunctionDef& definition,
                                        const TypePtr& self);
  c10::FunctionSchema MakeSchema(const std::string& name, const tree::FunctionDef& definition, const TypePtr& self);

  // The definitions of functions that were declared.
  const tree::FunctionDef* DefinitionOf(const Function* function) const;

 protected:
  // The class or function of that qualified name, or null.
  const tree::Stmt* FindDefinition(const std::string& qualified_name);
  const tree::Tree* FindFile(const std::string& qualifier);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  enum class Calls { kUpgraded, kOfToday };
  std::unique_ptr<Function> Declare(const std::string& qualified_name, const tree::FunctionDef& definition,
                                    const TypePtr& self, Calls calls);
  // The type that the function's returns have together, where its result's type must be known before its body can be
  // emitted but is not declared; else null.
  TypePtr InferReturns(const tree::FunctionDef& definition, const c10::FunctionSchema& schema);

  static constexpr int kMaxDepth = 300;  // of classes that name classes, all being declared

  std::shared_ptr<CompilationUnit> unit_;
  int depth_ = 0;
  SourceImporter::SourceProvider provider_;
  const std::vector<c10::IValue>* constants_;
  OperatorTable old_operators_;  // of the archive's version
  OperatorTable operators_;
  std::unordered_map<std::string, std::unique_ptr<const tree::Tree>> files_;  // null: there is no such file
  std::unordered_map<std::string, SugaredValue, Hash, std::equal_to<>> names_;
  std::unordered_map<std::string, TypePtr, Hash, std::equal_to<>> types_;  // by annotation
  std::unordered_map<const Function*, const tree::FunctionDef*> definitions_;
};

}  // namespace hearth
