// What the compiler knows of an operator beside its schema: said here once, as a row of the table of the file that its
// class is in (pointwise.cpp, views.cpp, ...). Passes and analyses ask for these properties and go by no lists of names
// of their own. An operator without a row runs as any other; nothing is known of it but what its schema says.
#pragma once

#include <ATen/core/interned_strings.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace hearth {

namespace fuser {
class Scalar;
}

class Call;  // fact_rules.h
class Operator;
class ScalarCall;
struct Gather;
struct PlaceRule;
struct RowRule;
struct ValueFacts;

enum class OperatorClass : uint8_t {
  kOther,
  kPointwise,      // an element of the result from the elements in its place, with broadcasting
  kReduction,      // of whole dimensions
  kScan,           // along a dimension
  kNormalization,  // softmax, too
  kDropout,
  kProduct,  // of matrices
  kConvolution,
  kPooling,
  kResampling,
  kAttention,
  kRecurrent,
  kView,      // the same elements, in other sizes or strides
  kJoin,      // of the tensors of a list
  kIndexing,  // picks or puts elements by position
  kCreation,
  kConversion,  // the same elements in another dtype, on another device, in other memory
  kRandom,
  kTensorQuery,  // asks about sizes, dtype and the like, and not about what is in a tensor
  kContainer,    // lists, strings and dicts
  kScalar,       // numbers, strings, devices, enumerations
};

// What is asked of numbers; both operands have one type.
enum class Relation : uint8_t { kNone, kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

// What an operator does to a list, its first operand.
enum class ListRole : uint8_t {
  kNone,
  kRead,    // keeps nothing of it
  kAdd,     // puts its other operands into it
  kExtend,  // puts the elements of its other operands into it
  kTake,    // gives an element
  kCopy,    // gives a list of its elements, and of those of its other operands
  kClear,   // puts nothing in
};

// When an operator without effects cannot raise.
enum class Raises : uint8_t {
  kPerhaps,
  kNotOnNumbers,     // where no operand has memory
  kNotOnContainers,  // there, nor of one operand that is no tensor
  kNotOnOneOperand,  // there, nor of any one operand
};

// Whether a result may be computed from constants while compiling.
enum class Folding : uint8_t {
  kNone,
  kNumbers,  // of numbers and None only: could make a long string or list out of others
  kScalars,  // of any values without memory; strings up to a length
};

// In which type torch.autocast has an operator compute.
enum class AutocastPolicy : uint8_t {
  kNone,
  kReduced,
  kFull,
  kFullUnlessDtypeGiven,
  kWidest,  // what is not known to be reduced counts as float32, so in effect kFull
};

// An overload that takes what the overload `of` takes, and a tensor to write the result to.
struct IntoOverload {
  std::string_view of;
  const char* name = nullptr;  // null: there is none, or none that is faster
  const char* overload = nullptr;
};

using GatherRule = std::optional<Gather> (*)(const Call&);  // gather_rules.h
using ScalarRule = fuser::Scalar (*)(ScalarCall&);          // scalar_rules.h
// Gives facts about the results of a call.
using FactRule = void (*)(Call&);
// What an operator with one operand gives of a tensor with these facts, where that is the same in every run.
using FactAnswer = std::optional<c10::IValue> (*)(const ValueFacts&);

struct OperatorDefinition {
  std::string_view name;  // with its namespace; of all overloads
  OperatorClass kind = OperatorClass::kOther;

  // ---- Its results ----
  FactRule facts = nullptr;  // of overloads that give no int
  // One element of it, of overloads that give a tensor (scalar_rules.h); null: kernels have none.
  ScalarRule scalar = nullptr;
  // Likewise of a result whose elements depend on all of their row (row_rules.h).
  const RowRule* row = nullptr;
  // Likewise of one whose elements are those of operands in other places (place_rules.h).
  const PlaceRule* place = nullptr;
  // Likewise of one whose elements are picked by the numbers in an operand (gather_rules.h).
  GatherRule gather = nullptr;
  FactRule number = nullptr;  // of overloads that give an int
  FactAnswer answer = nullptr;
  // There is a form with `_` at its name's end, which writes its first operand and gives it back; that keeps its sizes,
  // strides and dtype.
  bool in_place = false;
  IntoOverload into = {};
  Relation relation = Relation::kNone;
  // Overloads whose operands may be swapped (of a relation: for its mirror image).
  std::string_view commutes = {};
  // With this int as its second operand, it gives the first, an int.
  std::optional<int64_t> neutral = {};
  ListRole list = ListRole::kNone;

  // ---- Effects that its schema hides ----
  bool hides_writes = false;       // running statistics
  bool acts = false;               // prints, raises by design, changes what is global, waits
  bool reads_mode = false;         // answers by the thread's mode
  bool seeds = false;              // without a generator as operand: the process's generators
  bool records_gradients = false;  // switches the recording on, or uses it
  bool looks_at_storage = false;   // where in its storage a tensor begins
  bool hides_aliases = false;      // a result may be an operand or a view of one
  bool only_views = false;         // raises where the strides of its operand allow no view in other sizes
  Raises raises = Raises::kPerhaps;

  // ---- While compiling ----
  Folding folding = Folding::kNone;
  bool traps = false;          // the processor does, on a division by zero
  bool uninitialized = false;  // the elements of its result are whatever was in their memory
  AutocastPolicy autocast = AutocastPolicy::kNone;
  // The word of this activation as part of a product or convolution before it (libraries/packed_weight.h); empty if it
  // cannot be.
  std::string_view epilogue = {};
};

// Null if there is none. Thread-safe, as are all that follow.
const OperatorDefinition* FindDefinition(c10::Symbol symbol);
// The same, or one that says nothing.
const OperatorDefinition& DefinitionOf(c10::Symbol symbol);
// Of an operator that writes its first operand in place: the definition of the operator without `_`; null for others.
const OperatorDefinition* FindInPlace(c10::Symbol symbol);

void ForEachDefinition(const std::function<void(const OperatorDefinition&)>& visit);

// `relation` with its operands swapped.
Relation Mirrored(Relation relation);
// The operator that asks for a relation.
c10::Symbol SymbolOf(Relation relation);

}  // namespace hearth
