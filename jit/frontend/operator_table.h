// What an operator's name may mean in one archive: the registry's overloads in order, the overloads' old schemas where
// the archive's version asks for an upgrader, and the functions that TorchScript itself defines under that name.
//
// One table an importer; used by one thread. Sets stay valid as long as the table.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/interned_strings.h>

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/module/function.h"
#include "jit/operators/operator.h"

namespace hearth {

// One thing that a call may resolve to.
struct Candidate {
  const c10::FunctionSchema* schema = nullptr;
  const Operator* op = nullptr;  // null: `body` is inlined at the call
  Function* body = nullptr;      // a builtin function or an upgrader
};

struct OperatorSet {
  c10::Symbol symbol;
  std::vector<Candidate> candidates;  // in the order in which they are tried
  bool has_self = false;              // some candidate has an argument named `self`, so values have it as a method

  bool known() const { return !candidates.empty(); }
};

class OperatorTable {
 public:
  // For code of our own: neither upgraders nor builtin functions.
  static constexpr int64_t kRegistryOnly = -1;
  // For code that means today's operators.
  static constexpr int64_t kToday = std::numeric_limits<int64_t>::max();

  // `version` is the archive's.
  explicit OperatorTable(int64_t version) : version_(version) {}

  // Never null; an unknown operator has no candidates. `space` is "aten", "prim", "torchvision", ...
  const OperatorSet* Find(std::string_view space, std::string_view name);
  const OperatorSet* Find(c10::Symbol symbol);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using ByName = std::unordered_map<std::string, const OperatorSet*, Hash, std::equal_to<>>;

  std::unique_ptr<OperatorSet> Make(c10::Symbol symbol) const;

  int64_t version_;
  ByName aten_;
  std::unordered_map<std::string, ByName, Hash, std::equal_to<>> others_;
  std::unordered_map<c10::Symbol, std::unique_ptr<OperatorSet>> sets_;
};

}  // namespace hearth
