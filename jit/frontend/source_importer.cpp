#include "jit/frontend/source_importer.h"

#include <map>
#include <set>
#include <utility>

#include "jit/frontend/archive_resolver.h"
#include "jit/frontend/errors.h"
#include "jit/frontend/tree_walk.h"
#include "jit/frontend/written_resolver.h"

namespace hearth {
namespace {

// Operators that the archive names and this build lacks, each with the place of its first use.
class UnknownOperators {
 public:
  void Add(const std::string& name, const SourceRange& range) { uses_.try_emplace(name, range); }
  bool empty() const { return uses_.empty(); }

  [[noreturn]] void Report() const {
    std::string message = uses_.size() == 1 ? "The archive uses an operator that this build does not have:"
                                            : "The archive uses operators that this build does not have:";
    std::set<std::string> spaces;
    for (const auto& [name, range] : uses_) {
      message += "\n  " + name;
      if (range.source) {
        const Source::Position position = range.source->PositionOf(range.begin);
        message += "  (first used at " + range.source->name() + ", line " + std::to_string(position.line) + ")";
      }
      const std::string space = name.substr(0, name.find("::"));
      if (space != "aten" && space != "prim") spaces.insert(space);
    }
    for (const std::string& space : spaces) {
      message += "\nOperators named " + space + ":: come from a library";
      if (space == "torchvision" || space == "torchaudio" || space == "torchtext") {
        message += ", usually the _C.so of the Python package " + space;
      }
      message += "; name its file in the setting operator_libraries.";
    }
    throw UnknownOperatorError(uses_.begin()->second, uses_.begin()->first, message);
  }

 private:
  std::map<std::string, SourceRange> uses_;
};

// Every operator named in the function's body that is unknown, since compiling stops at the first.
void FindUnknown(const tree::FunctionDef& function, OperatorTable& operators, UnknownOperators& unknown) {
  VisitExpressions(function.body, [&](const tree::Expr& expr) {
    const auto* call = tree::dyn_cast<tree::Call>(&expr);
    const auto* name = call ? tree::dyn_cast<tree::Attribute>(call->callee) : nullptr;
    if (!name) return;
    std::string_view space;
    if (name->value->range.text() == "torch") {
      space = "aten";
    } else if (const auto* owner = tree::dyn_cast<tree::Attribute>(name->value)) {
      if (owner->value->range.text() == "ops") space = owner->attr;
    }
    if (space.empty()) return;
    const OperatorSet* set = operators.Find(space, name->attr);
    if (!set->known()) unknown.Add(set->symbol.toQualString(), expr.range);
  });
}

}  // namespace

SourceImporter::SourceImporter(std::shared_ptr<CompilationUnit> unit, SourceProvider provider,
                               const std::vector<c10::IValue>* constants, int64_t version)
    : resolver_(std::make_unique<ArchiveResolver>(std::move(unit), std::move(provider), constants, version)) {}

SourceImporter::SourceImporter(std::shared_ptr<CompilationUnit> unit, std::shared_ptr<const Source> file) {
  auto written = std::make_unique<WrittenResolver>(std::move(unit), std::move(file));
  written_ = written.get();
  resolver_ = std::move(written);
}

SourceImporter::~SourceImporter() = default;

c10::NamedTypePtr SourceImporter::LoadType(const std::string& qualified_name) {
  if (c10::NamedTypePtr type = resolver_->FindType(qualified_name)) return type;
  throw CompileError({}, "the archive's code does not define the type '" + qualified_name + "'");
}

Function* SourceImporter::LoadFunction(const std::string& qualified_name) {
  return resolver_->FindFunction(qualified_name);
}

std::vector<Function*> SourceImporter::LoadFunctions() { return written_->DeclareFunctions(); }

c10::TypePtr SourceImporter::ParseType(std::string_view annotation) {
  return resolver_->ParseAnnotation(annotation, {});
}

void SourceImporter::DefineAll() {
  UnknownOperators unknown;
  // Emitting a body may load more.
  for (size_t i = 0; i < resolver_->unit().functions().size(); ++i) {
    Function& function = *resolver_->unit().functions()[i];
    try {
      function.EnsureDefined();
    } catch (const UnknownOperatorError& error) {
      unknown.Add(error.name(), error.range());
      if (const tree::FunctionDef* definition = resolver_->DefinitionOf(&function)) {
        FindUnknown(*definition, resolver_->operators(), unknown);
      }
    }
  }
  if (!unknown.empty()) unknown.Report();
}

}  // namespace hearth
