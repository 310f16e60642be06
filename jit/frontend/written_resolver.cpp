#include "jit/frontend/written_resolver.h"

#include <utility>

#include "jit/frontend/tree_walk.h"
#include "jit/ir/type_parser.h"

namespace hearth {
namespace {

using tree::cast;
using tree::dyn_cast;

constexpr const char* kQualifier = "__torch__";

SourceImporter::SourceProvider FileAndLibrary(std::shared_ptr<const Source> file) {
  return [file = std::move(file)](const std::string& qualifier) -> std::shared_ptr<const Source> {
    if (qualifier == kQualifier) return file;
    std::string text = FindLibrarySource(qualifier);
    return text.empty() ? nullptr : std::make_shared<const Source>(std::move(text), qualifier);
  };
}

// The newest: what people write is for the torch that they have.
constexpr int64_t kVersion = 10;

}  // namespace

WrittenResolver::WrittenResolver(std::shared_ptr<CompilationUnit> unit, std::shared_ptr<const Source> source)
    : ArchiveResolver(std::move(unit), FileAndLibrary(std::move(source)), nullptr, kVersion) {}

const tree::Tree& WrittenResolver::File() {
  const tree::Tree& file = *FindFile(kQualifier);
  if (std::exchange(read_imports_, true)) return file;
  for (const tree::Stmt* statement : file.body()) {
    const auto* import = dyn_cast<tree::Import>(statement);
    if (!import) continue;
    for (const tree::ImportedName& name : import->names) {
      std::string meaning(name.module);
      if (!name.member.empty()) meaning.append(".").append(name.member);
      imports_[name.bound] = std::move(meaning);
    }
  }
  return file;
}

std::vector<Function*> WrittenResolver::DeclareFunctions() {
  std::vector<Function*> functions;
  const tree::Tree& file = File();
  for (const tree::Stmt* statement : file.body()) {
    if (const auto* function = dyn_cast<tree::FunctionDef>(statement)) {
      if (file.Find(function->name) != function || IsLeftToPython(*function)) continue;
      functions.push_back(FindFunction(std::string(kQualifier) + "." + std::string(function->name)));
    }
  }
  return functions;
}

std::string WrittenResolver::Canonical(std::string_view dotted) {
  const tree::Tree& file = File();
  const size_t dot = std::min(dotted.find('.'), dotted.size());
  const std::string_view first = dotted.substr(0, dot);
  if (file.Find(first)) return std::string(kQualifier).append(".").append(dotted);
  const auto imported = imports_.find(first);
  if (imported == imports_.end()) return std::string(dotted);
  return std::string(imported->second).append(dotted.substr(dot));
}

SugaredValue WrittenResolver::ResolveQualified(std::string_view qualified_name) {
  const std::string name = Canonical(qualified_name);
  const std::string_view library = FindLibraryClass(name);
  return ArchiveResolver::ResolveQualified(library.empty() ? std::string_view(name) : library);
}

bool WrittenResolver::IsException(std::string_view name) {
  const auto* definition = dyn_cast<tree::ClassDef>(File().Find(name));
  if (!definition || definition->bases.size() != 1) return false;
  const auto* base = dyn_cast<tree::Name>(definition->bases.front());
  if (!base || base->id == name) return false;
  return File().Find(base->id) ? IsException(base->id) : IsBuiltinException(base->id);
}

SugaredValue WrittenResolver::ResolveGlobal(std::string_view name) {
  if (name == "ops" || name == "annotate") return Unbound{};  // the library's own code is as archives have it
  if (const auto* function = dyn_cast<tree::FunctionDef>(File().Find(name)); function && IsLeftToPython(*function)) {
    return Unbound{};
  }
  if (IsException(name)) return ExceptionValue{Intern("__main__." + std::string(name))};
  const std::string meaning = Canonical(name);
  if (meaning != name) {
    if (SugaredValue found = ResolveQualified(name); !std::holds_alternative<Unbound>(found)) return found;
    if (const size_t dot = meaning.rfind('.'); dot != std::string::npos) {
      PythonMember member = ResolveMember(Intern(meaning.substr(0, dot)), Intern(meaning.substr(dot + 1)));
      if (!member.constant) return std::move(member.value);
    }
    return NamespaceValue{NamespaceValue::Kind::kPython, Intern(meaning)};
  }
  if (name == "torch" || name == "math") return NamespaceValue{NamespaceValue::Kind::kPython, Intern(meaning)};
  return Unbound{};
}

PythonMember WrittenResolver::ResolveMember(std::string_view module, std::string_view name) {
  std::string dotted = std::string(module).append(".").append(name);
  if (const std::string_view library = FindLibraryClass(dotted); !library.empty()) {
    return {ArchiveResolver::ResolveQualified(library), {}};
  }
  PythonMember member = FindPythonMember(module, name, operators());
  if (auto* space = std::get_if<NamespaceValue>(&member.value); space && space->name.empty()) {
    space->name = Intern(std::move(dotted));
  }
  return member;
}

TypePtr WrittenResolver::FindAnnotated(const std::string& name) {
  const std::string meaning = Canonical(name);
  if (meaning.starts_with("torch.classes.")) return FindType("__torch__." + meaning);
  if (TypePtr type = FindType(meaning)) return type;
  if (meaning == name) return nullptr;
  try {
    return ParseType(meaning, nullptr);
  } catch (const TypeParseError&) {
    return nullptr;  // the caller names it as it is written
  }
}

}  // namespace hearth
