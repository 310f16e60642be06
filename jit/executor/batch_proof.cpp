#include "jit/executor/batch_proof.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/analysis/batch_axes.h"
#include "jit/compiler/compilation.h"
#include "jit/interpreter/bailout_record.h"
#include "jit/passes/pipelines.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

using Verdict = BatchProof::Verdict;
using Kind = BatchState::Kind;

spdlog::logger& ProofLog() {
  static spdlog::logger& log = LoggerOf("executor/batch_proof");
  return log;
}

// What tensors are taken to be where nothing is said of them: images, tokens or features, sequences of features.
struct Guess {
  size_t rank;
  c10::ScalarType dtype;
};
constexpr Guess kGuesses[] = {{4, c10::kFloat}, {2, c10::kFloat}, {2, c10::kLong}, {3, c10::kFloat},
                              {5, c10::kFloat}, {1, c10::kFloat}, {1, c10::kLong}};

// All combinations are looked at of so many arguments that may be left out.
constexpr size_t kMostOptional = 4;

// An argument of a graph as the analyses take it.
struct Input {
  ArgumentFacts facts;
  BatchState state = BatchState::Uniform();
};

Input InputOfKind(ArgumentKind kind, BatchState state = BatchState::Uniform()) {
  Input input{.facts = {}, .state = std::move(state)};
  input.facts.kind = kind;
  return input;
}
// Of which nothing is known.
Input UnknownInput(BatchState state) { return InputOfKind(ArgumentKind::kObject, std::move(state)); }

Input TensorInput(const BatchArgument& argument, const Guess& guess, c10::Device device) {
  const std::vector<int64_t> sizes = argument.sizes.value_or(std::vector<int64_t>(guess.rank, -1));
  Input input = InputOfKind(ArgumentKind::kTensor, BatchState::Rows(0, 1, true));
  ArgumentFacts& facts = input.facts;
  facts.tensor.dtype = argument.dtype.value_or(argument.sizes ? c10::ScalarType::Undefined : guess.dtype);
  facts.tensor.device = device;
  facts.tensor.rank = static_cast<uint8_t>(sizes.size());
  facts.tensor.sizes = sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    facts.tensor.size_classes.Set(i, sizes[i] == 1 ? SizeClass::kOne : SizeClass::kSeveral);
  }
  return input;
}

bool IsOptionalTensor(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::TensorType;
}

bool HoldsSeveral(const c10::Type& type) {
  return type.kind() == c10::TypeKind::TupleType || type.kind() == c10::TypeKind::ListType ||
         type.kind() == c10::TypeKind::DictType;
}

Input InputOf(const c10::Type& type, const BatchArgument& argument, const Guess& guess, c10::Device device) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return TensorInput(argument, guess, device);
    case c10::TypeKind::OptionalType:
      if (argument.absent) return InputOfKind(ArgumentKind::kNone, BatchState::Never());
      if (IsOptionalTensor(type)) return TensorInput(argument, guess, device);
      if (HoldsSeveral(*type.expectRef<c10::OptionalType>().getElementType()))
        return UnknownInput(BatchState::Because(Kind::kUnknown, nullptr, "is given a container that may be left out"));
      break;
    case c10::TypeKind::TupleType: {
      Input tuple = InputOfKind(ArgumentKind::kTuple, {.kind = Kind::kContainer});
      tuple.facts.length = type.containedTypes().size();
      for (const c10::TypePtr& element : type.containedTypes()) {
        Input part = element->kind() == c10::TypeKind::OptionalType
                         ? UnknownInput(BatchState::Because(Kind::kUnknown, nullptr,
                                                            "is given a tuple with parts that may be left out"))
                         : InputOf(*element, {.dtype = argument.dtype}, guess, device);
        tuple.facts.elements.push_back(std::move(part.facts));
        tuple.state.elements.push_back(std::move(part.state));
      }
      return tuple;
    }
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
      return UnknownInput(BatchState::Rows(0, 1, true));
    case c10::TypeKind::IntType:
      return InputOfKind(ArgumentKind::kInt);
    case c10::TypeKind::FloatType:
      return InputOfKind(ArgumentKind::kFloat);
    case c10::TypeKind::BoolType:
      return InputOfKind(ArgumentKind::kBool);
    default:
      break;
  }
  return UnknownInput(BatchState::Uniform());
}

// "aten::softmax at model.py:12 is taken over all rows".
std::string Because(const BatchState& state) {
  const std::string reason(state.reason);
  if (state.why == nullptr) return reason.empty() ? "its rows are not followed" : "it " + reason;
  const std::string place = PlaceOf(state.why->range());
  return absl::StrCat(state.why->kind().toQualString(), place.empty() ? "" : " at ", place, " ", reason);
}

class Judge {
 public:
  explicit Judge(BatchAxes& axes) : axes_(axes) {}

  BatchProof Of(const Graph& graph) {
    for (const Value* output : graph.outputs()) {
      whole_ = output;
      Look(axes_.Of(*output), *output->type(), "");
    }
    if (!mixes_.empty()) return {Verdict::kDependent, mixes_};
    if (!unknown_.empty()) return {Verdict::kUnknown, "not known whether rows mix: " + unknown_};
    return {Verdict::kIndependent, "rows are independent"};
  }

 private:
  static void Note(std::string* first, std::string text) {
    if (first->empty()) *first = std::move(text);
  }

  static std::string NameOf(const std::string& path) {
    return path.empty() ? "the answer" : absl::StrCat("part ", path, " of the answer");
  }

  void Look(const BatchState& state, const c10::Type& type, const std::string& path) {
    switch (state.kind) {
      case Kind::kNever:
        return;
      case Kind::kContainer:
        for (size_t i = 0; i < state.elements.size(); ++i) {
          const bool tuple = type.kind() == c10::TypeKind::TupleType;
          const size_t element = type.kind() == c10::TypeKind::DictType ? 1 : tuple ? i : 0;
          Look(state.elements[i], *type.containedTypes()[element],
               path.empty() ? std::to_string(i) : absl::StrCat(path, ".", i));
        }
        return;
      case Kind::kMixed:
        return Note(&mixes_, "rows mix: " + Because(state));
      case Kind::kRows:
        return LookAtRows(state, NameOf(path));
      case Kind::kUniform:
        return Note(&mixes_, absl::StrCat(NameOf(path), " is the same whatever the batch has, and has no rows"));
      case Kind::kUnknown:
        return Note(&unknown_, Because(state));
      default:
        return Note(&unknown_, NameOf(path) + " depends on the number of rows");
    }
  }

  void LookAtRows(const BatchState& state, const std::string& name) {
    if (state.axis != 0)
      return Note(&mixes_,
                  absl::StrCat("rows are not where they belong: ", name, " has them along dimension ", state.axis));
    if (state.outer != 1) return Note(&unknown_, name + " may have its rows in another order");
    const KnownSize per_row = state.per_row.is_known() ? state.per_row : axes_.PerRow(*whole_);
    if (per_row == 1) return;
    if (per_row.has_value())
      return Note(&mixes_, absl::StrCat("rows are not where they belong: ", name, " has ", *per_row, " for each"));
    Note(&unknown_, name + " may have several rows for each");
  }

  BatchAxes& axes_;
  const Value* whole_ = nullptr;
  std::string mixes_, unknown_;
};

BatchProof ProveFor(const BatchMethod& method, std::span<const BatchArgument> arguments, const Guess& guess) {
  const bool has_self = method.schema.arguments().size() > arguments.size();
  CompilationInputs inputs;
  inputs.effects = &method.effects;
  inputs.state_writes = method.state_writes;
  std::vector<BatchState> states;
  const auto add = [&](Input input) {
    inputs.arguments.push_back(std::move(input.facts));
    states.push_back(std::move(input.state));
  };
  if (has_self) add(UnknownInput(BatchState::Uniform()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = method.schema.arguments()[i + (has_self ? 1 : 0)];
    add(InputOf(*argument.type(), arguments[i], guess, method.device));
  }
  Compilation values(method.baseline, std::move(inputs));
  BuildValues(values);
  BatchAxes axes(values.source(), values.facts(), states);
  return Judge(axes).Of(values.source());
}

const c10::Argument& ArgumentAt(const BatchMethod& method, size_t arguments, size_t i) {
  return method.schema.arguments()[method.schema.arguments().size() - arguments + i];
}

// Of how many arguments it is not known how many dimensions their tensors have.
size_t CountGuessed(const BatchMethod& method, std::span<const BatchArgument> arguments) {
  size_t count = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Type& type = *ArgumentAt(method, arguments.size(), i).type();
    const bool of_rows = InputOf(type, {}, kGuesses[0], c10::kCPU).state.kind != Kind::kUniform;
    if (of_rows && !arguments[i].sizes && !arguments[i].absent) ++count;
  }
  return count;
}

BatchProof ProveGiven(const BatchMethod& method, std::span<const BatchArgument> arguments) {
  const size_t guessed = CountGuessed(method, arguments);
  if (guessed == 0) return ProveFor(method, arguments, kGuesses[0]);
  std::optional<BatchProof> unknown, mixed;
  std::vector<std::string> proved;
  for (const Guess& guess : kGuesses) {
    BatchProof proof = ProveFor(method, arguments, guess);
    ProofLog().debug("{}, of {} dimensions: {}", method.schema.name(), guess.rank, proof.text);
    if (proof.verdict == Verdict::kIndependent) {
      proved.push_back(absl::StrCat(guess.rank, guess.dtype == c10::kLong ? " (integers)" : ""));
      continue;
    }
    std::optional<BatchProof>& first = proof.verdict == Verdict::kUnknown ? unknown : mixed;
    if (!first) first = std::move(proof);
  }
  if (proved.size() == std::size(kGuesses)) return {Verdict::kIndependent, "rows are independent"};
  if (!proved.empty()) {
    return {Verdict::kUnknown, absl::StrCat("not known whether rows mix, for it is not known how many dimensions "
                                            "tensors have; rows are independent where they have ",
                                            absl::StrJoin(proved, " or "))};
  }
  if (unknown) return *std::move(unknown);
  if (guessed == 1) return *std::move(mixed);
  // Of several tensors that have not all the same number of dimensions it may not be so.
  return {Verdict::kUnknown, "not known whether rows mix, for it is not known how many dimensions tensors have"};
}

}  // namespace

BatchProof ProveBatch(const BatchMethod& method, std::span<const BatchArgument> arguments) try {
  // What may be left out is so in some calls.
  std::vector<size_t> optional;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::Type& type = *ArgumentAt(method, arguments.size(), i).type();
    if (type.kind() == c10::TypeKind::OptionalType && !arguments[i].absent) optional.push_back(i);
  }
  // Of others nothing is known that holds only where they are given.
  if (optional.size() > kMostOptional)
    std::erase_if(optional,
                  [&](size_t i) { return !IsOptionalTensor(*ArgumentAt(method, arguments.size(), i).type()); });
  if (optional.size() > kMostOptional) {
    return {Verdict::kUnknown,
            absl::StrCat("not known whether rows mix: more than ", kMostOptional, " arguments may be left out")};
  }
  std::optional<BatchProof> all;
  for (size_t left_out = 0; left_out < size_t{1} << optional.size(); ++left_out) {
    std::vector<BatchArgument> given(arguments.begin(), arguments.end());
    for (size_t i = 0; i < optional.size(); ++i) given[optional[i]].absent |= (left_out >> i & 1) != 0;
    BatchProof proof = ProveGiven(method, given);
    if (proof.verdict == Verdict::kUnknown) return proof;
    if (!all) all = proof;
    if (all->verdict == proof.verdict) continue;
    return {Verdict::kUnknown,
            absl::StrCat("not known whether rows mix: with and without what may be left out it is not the same; ",
                         proof.verdict == Verdict::kDependent ? proof.text : all->text)};
  }
  return *std::move(all);
} catch (const MemoryLimitError&) {
  throw;
} catch (const std::exception& error) {
  ProofLog().warn("{}: whether rows are independent was not found out: {}", method.schema.name(), error.what());
  return {Verdict::kUnknown, "not known whether rows mix"};
}

}  // namespace hearth
