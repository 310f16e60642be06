#include "jit/frontend/upgraders.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "jit/frontend/source_importer.h"
#include "jit/module/compilation_unit.h"
#include "jit/support/load_budget.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

struct Upgrader {
  const char* op;        // with its overload
  int64_t last_version;  // of archives that mean the old behaviour
  const char* function;
};

// Where the old schema accepts no more calls than today's and means the same (gelu without `approximate`, div with a
// rounding mode), there is no entry: today's overload serves.
constexpr Upgrader kUpgraders[] = {
    {"aten::div.Tensor", 3, "div_tensor"},
    {"aten::div.Scalar", 3, "div_scalar"},
    {"aten::div.out", 3, "div_out"},
    {"aten::div_.Tensor", 3, "div_inplace_tensor"},
    {"aten::div_.Scalar", 3, "div_inplace_scalar"},
    {"aten::full", 4, "full"},
    {"aten::linspace", 7, "linspace"},
    {"aten::linspace.out", 7, "linspace_out"},
    {"aten::logspace", 8, "logspace"},
    {"aten::logspace.out", 8, "logspace_out"},
};

// Their signatures are the old schemas. Division of ints truncated; a whole fill value made a float tensor; the number
// of steps could be left out.
constexpr const char* kSource = R"(
def div_tensor(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self) or torch.is_floating_point(other):
    quotient = torch.true_divide(self, other)
  else:
    quotient = torch.divide(self, other, rounding_mode="trunc")
  return quotient

def div_scalar(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self) or isinstance(other, float):
    quotient = torch.true_divide(self, other)
  else:
    quotient = torch.divide(self, other, rounding_mode="trunc")
  return quotient

def div_out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
  exact = torch.is_floating_point(self) or torch.is_floating_point(other)
  if exact or torch.is_floating_point(out):
    quotient = torch.true_divide(self, other, out=out)
  else:
    quotient = torch.divide(self, other, rounding_mode="trunc", out=out)
  return quotient

def div_inplace_tensor(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self) or torch.is_floating_point(other):
    quotient = torch.true_divide_(self, other)
  else:
    quotient = torch.divide_(self, other, rounding_mode="trunc")
  return quotient

def div_inplace_scalar(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self) or isinstance(other, float):
    quotient = torch.true_divide_(self, other)
  else:
    quotient = torch.divide_(self, other, rounding_mode="trunc")
  return quotient

def full(size: List[int], fill_value: number, *, dtype: Optional[int]=None, layout: Optional[int]=None,
         device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if torch.__is__(dtype, None):
    filled = torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  else:
    filled = torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
  return filled

def steps_or_default(steps: Optional[int]) -> int:
  if torch.__is__(steps, None):
    count = 100
  else:
    count = torch._unwrap_optional(steps)
  return count

def linspace(start: number, end: number, steps: Optional[int]=None, *, dtype: Optional[int]=None,
             layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  count = __torch__.steps_or_default(steps)
  return torch.linspace(start, end, count, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)

def linspace_out(start: number, end: number, steps: Optional[int]=None, *, out: Tensor) -> Tensor:
  return torch.linspace(start, end, __torch__.steps_or_default(steps), out=out)

def logspace(start: number, end: number, steps: Optional[int]=None, base: float=10.0, *, dtype: Optional[int]=None,
             layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  count = __torch__.steps_or_default(steps)
  return torch.logspace(start, end, count, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)

def logspace_out(start: number, end: number, steps: Optional[int]=None, base: float=10.0, *, out: Tensor) -> Tensor:
  return torch.logspace(start, end, __torch__.steps_or_default(steps), base, out=out)
)";

struct Library {
  std::shared_ptr<CompilationUnit> unit = CompilationUnit::Create();
  std::unordered_map<std::string_view, std::pair<const Upgrader*, Function*>> by_op;

  Library() {
    // The process's, whichever load comes first.
    const MemoryAccount::Scope uncounted(nullptr);
    const LoadBudget unlimited(std::chrono::nanoseconds(0));
    auto source = std::make_shared<const Source>(kSource, "operator upgraders");
    SourceImporter importer(
        unit, [&](const std::string& qualifier) { return qualifier == "__torch__" ? source : nullptr; }, nullptr,
        OperatorTable::kRegistryOnly);
    for (const Upgrader& upgrader : kUpgraders) {
      Function* function = importer.LoadFunction(std::string("__torch__.") + upgrader.function);
      TORCH_INTERNAL_ASSERT(function, "no upgrader ", upgrader.function);
      by_op.emplace(upgrader.op, std::make_pair(&upgrader, function));
    }
    importer.DefineAll();
  }
};

constexpr int64_t kLastVersion = 8;  // the greatest last_version

}  // namespace

Candidate FindUpgrader(const Operator& op, int64_t version) {
  if (version > kLastVersion) return {};
  const c10::FunctionSchema& schema = op.schema();
  static constexpr std::string_view kNames[] = {"aten::div", "aten::div_", "aten::full", "aten::linspace",
                                                "aten::logspace"};
  bool concerned = false;
  for (const std::string_view name : kNames) concerned |= schema.name() == name;
  if (!concerned) return {};
  static const Library* const library = new Library();
  const std::string full =
      schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
  const auto found = library->by_op.find(full);
  if (found == library->by_op.end() || version > found->second.first->last_version) return {};
  return {&found->second.second->getSchema(), nullptr, found->second.second};
}

}  // namespace hearth
