#include "jit/frontend/builtin_functions.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/frontend/operator_table.h"
#include "jit/frontend/source_importer.h"
#include "jit/module/compilation_unit.h"
#include "jit/support/load_budget.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

// The source is put together from templates: each use of `$T` is one scalar type.
struct Template {
  const char* op;     // "aten::mul"
  const char* types;  // of $T, separated by blanks
  const char* text;   // of a function named $N
};

constexpr Template kTemplates[] = {
    {"aten::mul", "float int complex", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.mul(b, a)\n"},
    {"aten::add", "float int complex", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.add(b, a)\n"},
    {"aten::ne", "float int complex", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.ne(b, a)\n"},
    {"aten::eq", "float int complex", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.eq(b, a)\n"},
    {"aten::sub", "float int complex", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.add(torch.neg(b), a)\n"},
    {"aten::div", "float int complex",
     "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.mul(torch.reciprocal(b), a)\n"},
    {"aten::lt", "float int", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.gt(b, a)\n"},
    {"aten::le", "float int", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.ge(b, a)\n"},
    {"aten::gt", "float int", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.lt(b, a)\n"},
    {"aten::ge", "float int", "def $N(a: $T, b: Tensor) -> Tensor:\n  return torch.le(b, a)\n"},
    {"aten::floordiv", "float int Tensor",
     "def $N(self: Tensor, other: $T) -> Tensor:\n  return torch.floor_divide(self, other)\n"},
    {"aten::_single", "float int", "def $N(x: BroadcastingList1[$T]) -> List[$T]:\n  return x\n"},
    {"aten::_pair", "float int", "def $N(x: BroadcastingList2[$T]) -> List[$T]:\n  return x\n"},
    {"aten::_triple", "float int", "def $N(x: BroadcastingList3[$T]) -> List[$T]:\n  return x\n"},
    {"aten::_quadruple", "float int", "def $N(x: BroadcastingList4[$T]) -> List[$T]:\n  return x\n"},
    {"aten::_assert", "Tensor",
     "def $N(condition: bool, message: str) -> None:\n  assert condition, message\n  return None\n"},
    {"aten::_assert_int_or_pair", "Tensor",
     "def $N(vals: List[int], name: str, message: str) -> None:\n  return None\n"},
    {"aten::list_with_default", "Tensor",
     "def $N(out_size: List[int], defaults: List[int]) -> List[int]:\n"
     "  assert len(defaults) > len(out_size), \"out_size has more dimensions than the input\"\n"
     "  return out_size\n"},
    {"aten::type", "Tensor",
     "def $N(self: Tensor, dtype: int, non_blocking: bool=False, copy: bool=False) -> Tensor:\n"
     "  return torch.to(self, dtype, non_blocking, copy)\n"},
    {"aten::device", "str", "def $N(type: $T) -> Device:\n  return torch.device(type)\n"},
    {"aten::__contains__", "Tensor",
     "def $N(self: str, key: str) -> bool:\n  return torch.ne(torch.find(self, key, 0, torch.len(self)), -1)\n"},
    {"prim::ndim", "Tensor", "def $N(a: Tensor) -> int:\n  return torch.dim(a)\n"},
    {"prim::T", "Tensor", "def $N(a: Tensor) -> Tensor:\n  return torch.numpy_T(a)\n"},
    {"prim::H", "Tensor", "def $N(a: Tensor) -> Tensor:\n  return torch.matrix_H(a)\n"},
    {"prim::mT", "Tensor", "def $N(a: Tensor) -> Tensor:\n  return torch.mT(a)\n"},
    {"prim::mH", "Tensor", "def $N(a: Tensor) -> Tensor:\n  return torch.mH(a)\n"},
    {"prim::shape", "Tensor", "def $N(a: Tensor) -> List[int]:\n  return torch.size(a)\n"},
};

void ReplaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

struct Library {
  std::shared_ptr<CompilationUnit> unit = CompilationUnit::Create();
  std::unordered_map<c10::Symbol, std::vector<Function*>> by_name;

  Library() {
    // The process's, whichever load comes first.
    const MemoryAccount::Scope uncounted(nullptr);
    const LoadBudget unlimited(std::chrono::nanoseconds(0));
    std::string text;
    std::vector<std::pair<c10::Symbol, std::string>> functions;
    for (const Template& made : kTemplates) {
      std::string_view types = made.types;
      while (!types.empty()) {
        const size_t end = std::min(types.find(' '), types.size());
        const std::string type(types.substr(0, end));
        types.remove_prefix(std::min(end + 1, types.size()));
        std::string name = made.op;
        ReplaceAll(name, "::", "_");
        name += "_" + type;
        std::string body = made.text;
        ReplaceAll(body, "$N", name);
        ReplaceAll(body, "$T", type);
        text += body;
        functions.emplace_back(c10::Symbol::fromQualString(made.op), std::move(name));
      }
    }
    auto source = std::make_shared<const Source>(std::move(text), "builtin functions");
    SourceImporter importer(
        unit, [&](const std::string& qualifier) { return qualifier == "__torch__" ? source : nullptr; }, nullptr,
        OperatorTable::kRegistryOnly);
    for (const auto& [symbol, name] : functions) {
      Function* function = importer.LoadFunction("__torch__." + name);
      TORCH_INTERNAL_ASSERT(function, "no builtin function ", name);
      by_name[symbol].push_back(function);
    }
    importer.DefineAll();
  }
};

const Library& GetLibrary() {
  static const Library* const library = new Library();
  return *library;
}

}  // namespace

void PrepareBuiltinFunctions() { GetLibrary(); }

std::span<Function* const> BuiltinFunctions(c10::Symbol name) {
  const Library& library = GetLibrary();
  const auto found = library.by_name.find(name);
  if (found == library.by_name.end()) return {};
  return found->second;
}

}  // namespace hearth
