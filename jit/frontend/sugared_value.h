// What an expression may mean while code is compiled. Most are SSA values; the rest exist for the front end only: a
// namespace, an operator's name, a function, a class, a bound method, a special form.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "jit/frontend/operator_table.h"
#include "jit/frontend/tree.h"
#include "jit/ir/graph.h"
#include "jit/module/function.h"

namespace hearth {

// Nothing is bound, and why ("is not defined in the false branch"); static text.
struct Unbound {
  const char* why = nullptr;
};

struct NamespaceValue {
  enum class Kind {
    kTorch,          // torch, torch.autograd: names are aten operators
    kOperators,      // ops: names are namespaces
    kOperatorSpace,  // ops.<space>
    kConstants,      // CONSTANTS
    kArchive,        // __torch__ and what is below it
    kPython,         // a module of Python's, in source that people write
  };
  Kind kind;
  std::string_view name;  // the space of kOperatorSpace, the qualified name of kArchive and kPython; views that stay
};

// An operator's name; as a method it has `self`.
struct OperatorValue {
  const OperatorSet* set;
  Value* self = nullptr;
};

struct FunctionValue {
  Function* function;
};

// A method of an object. `function` is null for an interface's.
struct MethodValue {
  Value* self;
  const c10::FunctionSchema* schema;
  torch::jit::Function* function;
};

// A class, interface, named tuple or enum.
struct TypeValue {
  c10::NamedTypePtr type;
};

// `Class.__new__`.
struct NewValue {
  c10::ClassTypePtr type;
};

// A function defined inside a function: only fork and awaitable take it.
struct ClosureValue {
  const tree::FunctionDef* definition;
};

// The results of an operator that has several (or none), not yet packed into a tuple; or of a zip, without a schema.
struct ResultsValue {
  std::vector<Value*> values;
  const c10::FunctionSchema* schema = nullptr;
};

enum class SpecialForm {
  kAnnotate,
  kAwaitable,
  kBool,
  kComplex,
  kDict,
  kEnumerate,
  kFalse,  // a call gives that constant
  kFloat,
  kFork,
  kGetAttr,
  kHasAttr,
  kInt,
  kIsInstance,
  kLen,
  kList,
  kRange,
  kReversed,
  kRound,
  kStr,
  kSuper,
  kToList,  // the method of a tensor
  kToTensor,
  kTrue,  // a call gives that constant
  kTuple,
  kTupleMethod,
  kUncheckedCast,
  kUninitialized,
  kZip,
};

struct SpecialFormValue {
  SpecialForm form;
  Value* self = nullptr;
};

// A method that casts a tensor: `x.half`.
struct TensorCastValue {
  Value* self;
  c10::ScalarType dtype;
};

// An exception class, by its full name, or by its text as an old archive has it.
struct ExceptionValue {
  std::string_view name;
};

using SugaredValue =
    std::variant<Unbound, Value*, NamespaceValue, OperatorValue, FunctionValue, MethodValue, TypeValue, NewValue,
                 ClosureValue, ResultsValue, SpecialFormValue, TensorCastValue, ExceptionValue>;

// Whether Python has an exception class of that name that TorchScript can raise.
bool IsBuiltinException(std::string_view name);

// What to call it in an error: "a namespace", "a function", ...
const char* Describe(const SugaredValue& value);

}  // namespace hearth
