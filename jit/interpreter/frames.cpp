// What the dispatch loop leaves to functions: entering calls, forks and awaitables, and calling what is not Code.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "jit/interpreter/call.h"
#include "jit/interpreter/state.h"
#include "jit/interpreter/work_share.h"
#include "jit/support/placed_allocation.h"

namespace hearth {
namespace {

using c10::IValue;

[[noreturn]] void NoSuchMethod(const IValue& self, const std::string& name) {
  TORCH_CHECK(false, "an object of type ", self.type()->repr_str(), " has no method ", name);
}

// No model nests calls as deeply as this but one that calls itself without end.
constexpr size_t kMaxFrames = 100000;

}  // namespace

void InterpreterState::PushFrame(const Code& code, size_t base) {
  TORCH_CHECK(frames_.size() < kMaxFrames, "maximum recursion depth exceeded");
  frames_.push_back({&code, code.instructions.data(), base, {}, {}});
}

bool InterpreterState::EnterInterfaceCall(const Instruction& instruction, IValue* registers, const IValue* constants,
                                          const int32_t* operands) {
  const Code& code = *frames_.back().code;
  const InterfaceCall& call = code.interface_calls[static_cast<size_t>(instruction.target)];
  const IValue& self = operands[0] >= 0 ? registers[operands[0]] : constants[~operands[0]];
  const auto type = self.toObjectRef().type();
  torch::jit::Function* found = call.cache->Find(type.get(), call.name);
  if (found == nullptr) NoSuchMethod(self, call.name);
  const Function* function = dynamic_cast<const Function*>(found);
  const Code* callee = function != nullptr ? CodeFor(*function) : nullptr;
  if (callee == nullptr) {
    CallForeign(*found, instruction, registers, constants, operands);
    return false;
  }
  TORCH_CHECK(callee->num_inputs == instruction.num_inputs, callee->function_name, " takes ", callee->num_inputs,
              " arguments but got ", instruction.num_inputs);
  EnterFrame(*callee, TakeInputs(instruction, registers, constants, operands));
  return true;
}

bool InterpreterState::EnterFork(const Instruction& instruction, IValue* registers, const IValue* constants,
                                 const int32_t* operands) {
  const Code& code = *frames_.back().code;
  const auto& closure = code.closures[static_cast<size_t>(instruction.target)];
  auto future = c10::make_intrusive<c10::ivalue::Future>(code.types[static_cast<size_t>(instruction.a)].type);
  std::vector<IValue> captured = TakeInputs(instruction, registers, constants, operands);
  registers[operands[instruction.num_inputs]] = future;
  if (ForksRunElsewhere()) {
    StartFork(closure, std::move(future), std::move(captured));
    return false;
  }
  forked_in_.push_back(ModeForFork());
  EnterFrame(*closure, std::move(captured));
  frames_.back().future = std::move(future);
  return true;
}

void InterpreterState::EnterFrame(const Code& code, std::vector<IValue> arguments) {
  const size_t base = frames_.back().base + frames_.back().code->num_registers;
  GrowRegisters(base + code.num_registers);
  for (size_t i = 0; i < arguments.size(); ++i) registers_[base + i] = std::move(arguments[i]);
  PushFrame(code, base);
}

void InterpreterState::GrowRegisters(size_t wanted) {
  if (wanted > registers_.size()) registers_.resize(std::max(wanted, registers_.size() * 2));
}

std::vector<IValue> InterpreterState::TakeInputs(const Instruction& instruction, IValue* registers,
                                                 const IValue* constants, const int32_t* operands) {
  std::vector<IValue> inputs;
  inputs.reserve(instruction.num_inputs);
  for (uint32_t i = 0; i < instruction.num_inputs; ++i) {
    const int32_t operand = operands[i];
    if (i < 32 && (instruction.dying >> i & 1) != 0) {
      inputs.push_back(std::move(registers[operand]));
    } else {
      inputs.push_back(operand >= 0 ? registers[operand] : constants[~operand]);
    }
  }
  return inputs;
}

void InterpreterState::ExecuteBoxed(const Instruction& instruction, IValue* registers, const IValue* constants,
                                    const int32_t* operands) {
  stack_.clear();
  for (uint32_t i = 0; i < instruction.num_inputs; ++i) {
    const int32_t operand = operands[i];
    if (i < 32 && (instruction.dying >> i & 1) != 0) {
      stack_.push_back(std::move(registers[operand]));
    } else {
      stack_.push_back(operand >= 0 ? registers[operand] : constants[~operand]);
    }
  }
  if (instruction.a != 0) stack_.emplace_back(static_cast<int64_t>(instruction.num_inputs));
  {
    const auto measure = static_cast<WorkMeasure>(instruction.c);
    std::array<const IValue*, kMaxNativeInputs> inputs;
    const size_t count = measure == WorkMeasure::kUnknown ? 0 : std::min(stack_.size(), inputs.size());
    for (size_t i = 0; i < count; ++i) inputs[i] = &stack_[i];
    const WorkShare share(measure, {inputs.data(), count});
    instruction.op->Run(stack_);
  }
  TORCH_CHECK(stack_.size() == instruction.num_outputs, instruction.op->schema().name(), " gave ", stack_.size(),
              " results instead of ", instruction.num_outputs);
  for (size_t i = 0; i < stack_.size(); ++i) registers[operands[instruction.num_inputs + i]] = std::move(stack_[i]);
  stack_.clear();
}

// An operator whose result has a place: its memory is the operator's to allocate.
void InterpreterState::ExecutePlaced(const Instruction& instruction, IValue* registers, const IValue* constants,
                                     const int32_t* operands) {
  const auto place = static_cast<size_t>(instruction.target);
  const PlacedAllocation placed(arena_->bytes_of(place), arena_->memory_of(place));
  if (instruction.b == 0) return ExecuteBoxed(instruction, registers, constants, operands);
  std::array<const IValue*, kMaxNativeInputs> inputs;
  const size_t count = instruction.num_inputs;
  for (size_t i = 0; i < count; ++i) {
    inputs[i] = operands[i] >= 0 ? &registers[operands[i]] : &constants[~operands[i]];
  }
  {
    const WorkShare share(static_cast<WorkMeasure>(instruction.c), {inputs.data(), count});
    instruction.op->native()({inputs.data(), count}, &registers[operands[count]]);
  }
  for (uint32_t dying = instruction.dying; dying != 0; dying &= dying - 1) {
    registers[operands[std::countr_zero(dying)]] = IValue();
  }
}

void InterpreterState::CallForeign(torch::jit::Function& function, const Instruction& instruction, IValue* registers,
                                   const IValue* constants, const int32_t* operands) {
  torch::jit::Stack stack = TakeInputs(instruction, registers, constants, operands);
  function.run(stack);
  TORCH_CHECK(stack.size() == 1, function.qualname().qualifiedName(), " gave ", stack.size(), " results");
  registers[operands[instruction.num_inputs]] = std::move(stack.back());
}

}  // namespace hearth
