// Decides which schema a call means, as TorchScript does: candidates in order, first without implicit conversions of
// scalars, then with; the first that fits wins; a single candidate is tried with conversions at once. Archives do not
// record overload names, so this must choose what PyTorch's own loader chooses.
//
// Matching looks at types only and emits nothing; EmitArguments then emits conversions and defaults for the winner.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

struct NamedArgument {
  std::string_view name;
  Value* value;
};

// The actual arguments of a call, already emitted. `self` is bound by name to the argument called self, if set.
struct CallArguments {
  std::span<Value* const> positional;
  std::span<const NamedArgument> named;
  Value* self = nullptr;
};

// Makes what matching needs beside the graph.
class ArgumentContext {
 public:
  virtual ~ArgumentContext() = default;
  // Whether the value is a bare `[]` that nothing else can see.
  virtual bool IsEmptyListLiteral(const Value* value) const = 0;
  // A constant for a default value. `default_value` lives as long as the schema.
  virtual Value* DefaultConstant(const c10::IValue& default_value, const TypePtr& type) = 0;
};

// How one schema takes a call's arguments.
struct Match {
  struct Slot {
    enum class Source { kValue, kRepeated, kList, kDefault };
    Source source;
    const c10::Argument* formal;
    Value* value = nullptr;  // kValue, kRepeated
    size_t first = 0;        // kList: this positional argument and all after it
    TypePtr type;            // what the formal asks for, without type variables
  };
  const c10::FunctionSchema* schema = nullptr;
  bool implicit = false;  // conversions were needed
  std::vector<Slot> slots;
  size_t used_positional = 0;  // a vararg schema takes those that follow as they are
  std::vector<TypePtr> returns;
};

// Whether the call fits the schema. On failure `why`, if given, gets a line or two to show to a person.
bool TryMatch(const c10::FunctionSchema& schema, const CallArguments& arguments, bool implicit,
              const ArgumentContext& context, Match* match, std::string* why);

// The inputs of the call's node, in the schema's order, with conversions and constants emitted at the insertion point.
std::vector<Value*> EmitArguments(Graph& graph, const SourceRange& range, const Match& match,
                                  const CallArguments& arguments, ArgumentContext& context);

}  // namespace hearth
