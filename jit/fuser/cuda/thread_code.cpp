#include "jit/fuser/cuda/thread_code.h"

#include <algorithm>
#include <span>
#include <vector>

#include "jit/fuser/cuda/buffer_accesses.h"
#include "jit/fuser/cuda/buffers_in_cuda.h"
#include "jit/fuser/cuda/operations_in_cuda.h"
#include "jit/fuser/cuda/reductions_in_cuda.h"

namespace hearth::fuser {
namespace {

std::string ModuloOf(const LoopCode& code, const Instruction& instruction) {
  const std::string a = "(unsigned)" + code.names.NameOf(instruction.operands[0]);
  const std::string b = "(unsigned)" + code.names.NameOf(instruction.operands.back());
  switch (instruction.opcode) {
    case Opcode::kAdd:
      return a + " + " + b;
    case Opcode::kSubtract:
      return a + " - " + b;
    case Opcode::kMultiply:
      return a + " * " + b;
    default:
      return "0u - " + a;
  }
}

bool AreNarrow(const LoopCode& code, std::span<const ValueId> operands, Dtype dtype) {
  return std::ranges::all_of(operands, [&](ValueId operand) {
    return code.names.DtypeOf(operand) != dtype || code.names.WidthOf(operand) == IndexWidth::kNarrow;
  });
}

std::string ArithmeticOf(const LoopCode& code, const Instruction& instruction) {
  const std::vector<ValueId>& operands = instruction.operands;
  const IndexWidth width = code.names.WidthOf(instruction.result);
  if (width == IndexWidth::kModulo) return ModuloOf(code, instruction);
  std::vector<std::string> names;
  // Comparisons of what fits need no more than that, either.
  const Dtype dtype = code.names.DtypeOf(operands.back());
  const bool narrow = dtype == Dtype::kInt64 && instruction.opcode != Opcode::kCast &&
                      AreNarrow(code, operands, dtype) &&
                      (width == IndexWidth::kNarrow || IsComparison(instruction.opcode));
  for (const ValueId operand : operands) {
    names.push_back(narrow ? code.names.NameOf(operand) : code.names.Operand(operand));
  }
  if (narrow) return ExpressionOf(instruction.opcode, Dtype::kInt32, names, code.functions);
  std::string expression = instruction.opcode == Opcode::kCast
                               ? ConversionOf(names[0], dtype, instruction.dtype, code.functions)
                               : ExpressionOf(instruction.opcode, dtype, names, code.functions);
  return width == IndexWidth::kNarrow ? "(int)(" + expression + ")" : expression;
}

std::string ExpressionOfInstruction(const LoopCode& code, const Instruction& instruction, const VectorScope& scope) {
  const std::vector<ValueId>& operands = instruction.operands;
  if (scope.Has(instruction) || scope.HasInner(instruction)) {
    return AsLoaded(code, instruction.buffer, NameOfVector(instruction) + ".of[part]");
  }
  if (scope.rounds != nullptr && instruction.result == scope.rounds->quotient) return "quotient";
  if (scope.rounds != nullptr && instruction.result == scope.rounds->rest) {
    return scope.rounds->is_even ? "rest + part" : "rest";
  }
  switch (instruction.opcode) {
    case Opcode::kLoad:
      return LoadOf(code, instruction.buffer, operands, scope);
    case Opcode::kLoadIf: {
      const Instruction zero{.opcode = Opcode::kConstant, .dtype = instruction.dtype};
      return code.names.Operand(operands[0]) + " ? " + LoadOf(code, instruction.buffer, IndicesOf(instruction), scope) +
             " : " + LiteralOf(zero);
    }
    case Opcode::kBitcast:
      return BitsAs(code.names.Operand(operands[0]), code.names.DtypeOf(operands[0]), instruction.dtype);
    default:
      return ArithmeticOf(code, instruction);
  }
}

// The condition costs nothing where the kernel runs: the loop over the parts is unrolled.
void LoadInnerVector(LoopCode& code, const Instruction& access, const VectorScope& scope) {
  const std::string memory = "&" + ElementOf(code, access.buffer, IndicesOf(access), scope);
  const std::string type = TypeOfVector(code, access, scope.rounds->width);
  const std::string loaded = "*(const " + type + "*)(" + memory + ")";
  const bool is_certain = access.opcode == Opcode::kLoad;
  code.text.Line("if (part == 0) " + NameOfVector(access) + " = " +
                 (is_certain ? loaded : code.names.Operand(access.operands[0]) + " ? " + loaded + " : " + type + "()") +
                 ";");
}

void EmitStore(LoopCode& code, const Instruction& store, const VectorScope& scope) {
  const std::string element =
      scope.Has(store) ? NameOfVector(store) + ".of[part]" : ElementOf(code, store.buffer, IndicesOf(store), scope);
  code.text.Line(element + " = " + code.names.Operand(store.operands[0]) + ";");
}

void EmitThreadLoop(LoopCode& code, const Loop& loop, const VectorScope& scope) {
  const ValueNames& names = code.names;
  DeclarePartials(code, loop);
  for (const Carried& carried : loop.carried) {
    code.text.Line(names.TypeOf(carried.result) + " " + NameOfValue(carried.result) + " = " +
                   names.Operand(carried.initial) + ";");
  }
  BeginLoop(code, loop, "0", "1");
  for (const Carried& carried : loop.carried) {
    code.text.Line("const " + names.TypeOf(carried.value) + " " + NameOfValue(carried.value) + " = " +
                   NameOfValue(carried.result) + ";");
  }
  EmitThreadBody(code, loop.body, scope);
  ReduceElements(code, loop);
  for (const Carried& carried : loop.carried) {
    code.text.Line(NameOfValue(carried.result) + " = " + names.Operand(carried.next) + ";");
  }
  code.text.End();
  EmitResultsOfThread(code, loop);
}

}  // namespace

void EmitThreadBody(LoopCode& code, const Body& body, const VectorScope& scope) {
  for (const Statement& statement : body) {
    if (statement.loop == nullptr) {
      EmitInstruction(code, statement.instruction, scope);
    } else {
      EmitThreadLoop(code, *statement.loop, scope);
    }
  }
}

void EmitInstruction(LoopCode& code, const Instruction& instruction, const VectorScope& scope) {
  if (scope.HasInner(instruction)) LoadInnerVector(code, instruction, scope);
  switch (instruction.opcode) {
    case Opcode::kConstant:
      return;
    case Opcode::kStore:
      EmitStore(code, instruction, scope);
      return;
    default:
      code.text.Line("const " + code.names.TypeOf(instruction.result) + " " + NameOfValue(instruction.result) + " = " +
                     ExpressionOfInstruction(code, instruction, scope) + ";");
  }
}

void BeginLoop(LoopCode& code, const Loop& loop, const std::string& first, const std::string& step) {
  const std::string index = NameOfValue(loop.index);
  code.text.Begin("for (" + code.names.TypeOf(loop.index) + " " + index + " = " + first + "; " + index + " < " +
                  code.names.NameOf(loop.extent) + "; " + index + " += " + step + ")");
}

}  // namespace hearth::fuser
