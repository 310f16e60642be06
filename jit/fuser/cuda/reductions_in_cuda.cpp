#include "jit/fuser/cuda/reductions_in_cuda.h"

#include <string>
#include <string_view>

#include "jit/fuser/cuda/operations_in_cuda.h"
#include "jit/fuser/ir/unsupported.h"

namespace hearth::fuser {
namespace {

// Static shared memory for partial results, which leaves the greater part to local buffers.
constexpr size_t kMostPartialBytes = size_t{16} << 10;
constexpr size_t kBytesOfElement = 8;  // at most

std::string_view FunctorOf(Reduction reduction) {
  constexpr std::string_view kFunctors[kNumReductions] = {"Sum",     "Product",    "Least",
                                                          "Largest", "FirstLeast", "FirstLargest"};
  return kFunctors[static_cast<size_t>(reduction)];
}

std::string NameOfPartial(const Accumulator& accumulator) { return "p" + std::to_string(accumulator.result); }

std::string TypeOfPartial(const LoopCode& code, const Accumulator& accumulator) {
  const std::string type(CTypeOf(code.names.DtypeOf(accumulator.element)));
  if (!IsArgReduction(accumulator.reduction)) return type;
  return std::string(code.functions->Use("First")) + "<" + type + ">";
}

std::string IdentityOfElement(const LoopCode& code, const Accumulator& accumulator) {
  return IdentityInCuda(accumulator.reduction, code.names.DtypeOf(accumulator.element));
}

// A First without a place.
std::string NothingOf(const LoopCode& code, const Accumulator& accumulator) {
  return "{" + IdentityOfElement(code, accumulator) + ", -1}";
}

// Of all partial results.
void EmitResult(LoopCode& code, const Accumulator& accumulator, const std::string& reduced) {
  const std::string result = IsArgReduction(accumulator.reduction)
                                 ? std::string(code.functions->Use("Maximum")) + "<long long>(" + reduced + ".index, 0)"
                                 : reduced;
  code.text.Line("const " + code.names.TypeOf(accumulator.result) + " " + NameOfValue(accumulator.result) + " = " +
                 result + ";");
}

std::string ReducedByThreads(const LoopCode& code, const Accumulator& accumulator) {
  const std::string functor(code.functions->Use(FunctorOf(accumulator.reduction)));
  const bool is_arg = IsArgReduction(accumulator.reduction);
  if (is_arg) code.functions->Use("OfLaneFirst");
  const std::string partial = NameOfPartial(accumulator);
  if (code.IsOfWarps()) {
    return std::string(code.functions->Use("WarpReduce")) + "(" + partial + ", " + functor + "())";
  }
  const std::string identity =
      is_arg ? TypeOfPartial(code, accumulator) + NothingOf(code, accumulator) : IdentityOfElement(code, accumulator);
  return std::string(code.functions->Use("BlockReduce")) + "(" + partial + ", " + identity + ", partial" +
         std::to_string(accumulator.result) + ", " + functor + "())";
}

}  // namespace

void DeclareSharedPartials(LoopCode& code) {
  size_t bytes = 0;
  for (const Statement& statement : code.loop.body) {
    if (statement.loop == nullptr) continue;
    for (const Accumulator& accumulator : statement.loop->accumulators) {
      code.text.Line("__shared__ " + TypeOfPartial(code, accumulator) + " partial" +
                     std::to_string(accumulator.result) + "[" + std::to_string(kThreadsPerWarp) + "];");
      bytes += kThreadsPerWarp * (IsArgReduction(accumulator.reduction) ? 2 : 1) * kBytesOfElement;
    }
  }
  if (bytes > kMostPartialBytes) throw Unsupported("no CUDA code for so many reductions in a round");
}

void DeclarePartials(LoopCode& code, const Loop& loop) {
  for (const Accumulator& accumulator : loop.accumulators) {
    const std::string initial =
        IsArgReduction(accumulator.reduction) ? NothingOf(code, accumulator) : IdentityOfElement(code, accumulator);
    code.text.Line(TypeOfPartial(code, accumulator) + " " + NameOfPartial(accumulator) + " = " + initial + ";");
  }
}

void ReduceElements(LoopCode& code, const Loop& loop) {
  for (const Accumulator& accumulator : loop.accumulators) {
    const std::string functor(code.functions->Use(FunctorOf(accumulator.reduction)));
    const std::string partial = NameOfPartial(accumulator);
    std::string element = code.names.Operand(accumulator.element);
    if (IsArgReduction(accumulator.reduction)) {
      element = TypeOfPartial(code, accumulator) + "{" + element + ", " + code.names.Operand(loop.index) + "}";
    }
    code.text.Line(partial + " = " + functor + "()(" + partial + ", " + element + ");");
  }
}

void EmitResultsOfThread(LoopCode& code, const Loop& loop) {
  for (const Accumulator& accumulator : loop.accumulators) EmitResult(code, accumulator, NameOfPartial(accumulator));
}

void EmitResultsOfThreads(LoopCode& code, const Loop& loop) {
  for (const Accumulator& accumulator : loop.accumulators) {
    EmitResult(code, accumulator, ReducedByThreads(code, accumulator));
  }
}

}  // namespace hearth::fuser
