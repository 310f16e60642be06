#include "jit/interpreter/code.h"

#include <sstream>

#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/lowering.h"
#include "jit/module/compilation_unit.h"
#include "jit/module/function.h"

namespace hearth {

std::shared_ptr<const Code> CompileCode(const Graph& graph, std::string function_name) {
  return Lowering(*graph.block(), std::move(function_name)).Run();
}

std::shared_ptr<const Code> CompileResumable(const Graph& graph, std::string function_name,
                                             std::span<const ResumePlace> places) {
  Lowering lowering(*graph.block(), std::move(function_name));
  lowering.MarkResumePoints(places);
  return lowering.Run();
}

torch::jit::Function* MethodCache::Find(const c10::ClassType* type, const std::string& name) {
  const Entry* newest = newest_.load(std::memory_order_acquire);
  if (newest != nullptr && newest->type == type) return newest->function;
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.type != type) continue;
    newest_.store(&entry, std::memory_order_release);
    return entry.function;
  }
  torch::jit::Function* function = FindMethod(*type, name);
  if (function == nullptr) return nullptr;
  entries_.push_back({type, function});
  newest_.store(&entries_.back(), std::memory_order_release);
  return function;
}

namespace {

const char* Name(Opcode opcode) {
  static const char* const kNames[] = {
#define HEARTH_OPCODE_NAME(name) #name,
      HEARTH_OPCODES(HEARTH_OPCODE_NAME)
#undef HEARTH_OPCODE_NAME
  };
  return kNames[static_cast<size_t>(opcode)];
}

class Lister {
 public:
  explicit Lister(const Code& code) : code_(code) {}

  std::string List() {
    out_ << code_.function_name << ": " << code_.num_inputs << " inputs, " << code_.num_registers << " registers\n";
    for (size_t i = 0; i < code_.instructions.size(); ++i) ListInstruction(i);
    for (const auto& closure : code_.closures) out_ << DumpCode(*closure);
    return out_.str();
  }

 private:
  void Put(int32_t operand) {
    if (operand >= 0) {
      out_ << (code_.scalar_registers[static_cast<size_t>(operand)] ? " s" : " r") << operand;
      return;
    }
    const c10::IValue& constant = code_.constants[static_cast<size_t>(~operand)];
    if (constant.isTensor()) {
      out_ << " <Tensor>";
    } else if (constant.isObject()) {
      out_ << " <" << constant.toObjectRef().name() << ">";
    } else {
      out_ << " " << constant;
    }
  }

  void ListInstruction(size_t i) {
    const Instruction& instruction = code_.instructions[i];
    out_ << "  " << i << ": " << Name(instruction.opcode);
    switch (instruction.opcode) {
      case Opcode::kMove:
      case Opcode::kMoveLast:
      case Opcode::kMoveScalar:
      case Opcode::kMoveToScalar:
        Put(instruction.a);
        out_ << " ->";
        Put(instruction.c);
        break;
      case Opcode::kDrop:
      case Opcode::kWithExit:
        Put(instruction.c);
        break;
      case Opcode::kJump:
        out_ << " @" << instruction.target;
        break;
      case Opcode::kJumpIfFalse:
      case Opcode::kWhileBack:
        Put(instruction.b);
        out_ << " @" << instruction.target;
        break;
      case Opcode::kLoopEnter:
      case Opcode::kJumpUnlessLtInt:
      case Opcode::kJumpUnlessLeInt:
      case Opcode::kJumpUnlessGtInt:
      case Opcode::kJumpUnlessGeInt:
      case Opcode::kJumpUnlessEqInt:
      case Opcode::kJumpUnlessNeInt:
        Put(instruction.a);
        Put(instruction.b);
        out_ << " @" << instruction.target;
        break;
      case Opcode::kForBack:
      case Opcode::kLoopBack:
        Put(instruction.c);
        Put(instruction.a);
        if (instruction.opcode == Opcode::kLoopBack) Put(instruction.b);
        out_ << " @" << instruction.target;
        break;
      case Opcode::kWithEnter:
        Put(instruction.a);
        break;
      case Opcode::kStateStep:
        out_ << " " << instruction.target;
        break;
      case Opcode::kObserve:
        Put(instruction.a);
        break;
      case Opcode::kSlot:
        out_ << " " << instruction.target << " ->";
        Put(instruction.c);
        break;
      default:
        ListOperands(instruction);
    }
    out_ << "\n";
  }

  void ListOperands(const Instruction& instruction) {
    if (instruction.opcode == Opcode::kPlaced) out_ << " " << instruction.target;
    if (instruction.opcode == Opcode::kBoxed || instruction.opcode == Opcode::kPlaced)
      out_ << " " << instruction.op->schema().operator_name();
    if (instruction.opcode == Opcode::kCall) out_ << " " << instruction.function->qualname().qualifiedName();
    if (instruction.opcode == Opcode::kCallForeign) out_ << " " << instruction.foreign->qualname().qualifiedName();
    const int32_t* operands = code_.operands.data() + instruction.operands;
    for (int i = 0; i < instruction.num_inputs; ++i) {
      Put(operands[i]);
      if (i < 32 && (instruction.dying >> i & 1) != 0) out_ << "!";
    }
    if (instruction.num_outputs > 0) out_ << " ->";
    for (int i = 0; i < instruction.num_outputs; ++i) Put(operands[instruction.num_inputs + i]);
  }

  const Code& code_;
  std::ostringstream out_;
};

}  // namespace

std::string DumpCode(const Code& code) { return Lister(code).List(); }

}  // namespace hearth
