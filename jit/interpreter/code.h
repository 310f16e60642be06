// The interpreter's program: instructions over registers, made once from a Graph (lowering.h).
//
// A register is a slot of the running frame; a register whose Values are all int, float or bool (a scalar register)
// never holds a counted reference, so writing it need not release what was there. An operand is a register (its number)
// or a constant (its number's complement, so negative). An instruction's inputs and then its outputs lie in one flat
// array. `dying` has a bit for each input that is used for the last time here: what takes values over (a call, a
// container) moves it out, everything else releases it afterwards. At a function's end no register holds a reference.
//
// Immutable once made; any number of runs share it.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/interpreter/arena.h"
#include "jit/interpreter/bailout_record.h"
#include "jit/operators/operator.h"
#include "jit/support/source_range.h"

namespace hearth {

class Code;
class Function;

// X(name): what each does stands beside its case in loop.h.
// clang-format finds no stable form for this list.
// clang-format off
#define HEARTH_OPCODES(X) \
  X(Move) X(MoveLast) X(MoveScalar) X(MoveToScalar) X(Drop) X(Jump) X(JumpIfFalse) X(LoopEnter) X(ForBack) \
  X(WhileBack) X(LoopBack) X(JumpUnlessLtInt) X(JumpUnlessLeInt) X(JumpUnlessGtInt) X(JumpUnlessGeInt) \
  X(JumpUnlessEqInt) X(JumpUnlessNeInt) X(AddInt) X(SubInt) X(MulInt) X(LtInt) X(LeInt) X(GtInt) X(GeInt) X(EqInt) \
  X(NeInt) X(AddFloat) X(SubFloat) X(MulFloat) X(DivFloat) X(LtFloat) X(LeFloat) X(GtFloat) X(GeFloat) X(Not) \
  X(IsNone) X(IsNotNone) X(ListGet) X(ListLen) X(Native) X(NativeWide) X(Boxed) X(ListConstruct) X(DictConstruct) \
  X(TupleConstruct) X(NamedTupleConstruct) X(ListUnpack) X(TupleUnpack) X(TupleGet) X(TupleSlice) X(GetAttr) \
  X(SetAttr) X(CreateObject) X(IsInstance) X(ToList) X(Call) X(CallForeign) X(CallInterface) X(WithEnter) \
  X(WithExit) X(Fork) X(Awaitable) X(Wait) X(AwaitableWait) X(StateStep) X(Guard) X(Observe) X(Arena) X(Slot) X(Placed) X(Raise) \
  X(Return)
// clang-format on

enum class Opcode : uint16_t {
#define HEARTH_OPCODE_ENUM(name) k##name,
  HEARTH_OPCODES(HEARTH_OPCODE_ENUM)
#undef HEARTH_OPCODE_ENUM
};

// A native function has at most so many inputs and outputs; an operator with more runs boxed.
inline constexpr int kMaxNativeInputs = 32;
inline constexpr int kMaxNativeOutputs = 8;

struct Instruction {
  Opcode opcode = Opcode::kJump;
  uint16_t num_inputs = 0;
  uint16_t num_outputs = 0;
  uint16_t cost = 1;   // taken from the fuel that runs out at the next safepoint
  uint32_t dying = 0;  // bit i: input i is not used again; inputs from 32 on are dropped by an instruction of their own
  uint32_t operands = 0;  // where inputs and outputs start in Code::operands
  int32_t a = 0;          // inline operations: operands
  int32_t b = 0;
  int32_t c = 0;       // inline operations: the output's register; loops: the counter's; operators: their WorkMeasure
  int32_t target = 0;  // a jump's instruction; else a number: of an entry of a side table, of a guard, a step, a place
  union {
    NativeFunction native = nullptr;
    const Operator* op;
    Function* function;
    torch::jit::Function* foreign;
  };
};

// Calls that were inlined, outermost last in each chain.
struct InlinedFrame {
  int32_t caller = -1;  // index of the frame around it, -1 for the function itself
  std::string callee;
  SourceRange call_site;
};

struct InstructionOrigin {
  c10::Symbol kind;  // of the node that it was made of
  SourceRange range;
  int32_t inlined = -1;
};

// Remembers which method a call through an interface went to, by the class of the object. The newest entry is looked at
// without a lock; entries live as long as the Code.
class MethodCache {
 public:
  // The method of that name; null if the class has none.
  torch::jit::Function* Find(const c10::ClassType* type, const std::string& name);

 private:
  struct Entry {
    const c10::ClassType* type;
    torch::jit::Function* function;
  };
  std::atomic<const Entry*> newest_{nullptr};
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

// What an instruction needs beside operands, where that is more than one word.
struct TypeOperand {
  c10::TypePtr type;
  std::vector<c10::TypePtr> types;
};
struct SliceOperand {
  int32_t begin;
  int32_t end;
};
struct InterfaceCall {
  std::string name;
  std::unique_ptr<MethodCache> cache;
};
struct AttributeOperand {
  std::string name;
};

// A place where a run of the Code can be taken up.
struct ResumePoint {
  uint32_t pc;
  // For each Value that is live there, its register; kNotInRegister where the Code has it as a constant.
  std::vector<int32_t> registers;
};
inline constexpr int32_t kNotInRegister = -1;

// Of a plan's Code: how a run that cannot go on there goes on in the baseline's (passes/frame_states.h).
struct Bailouts {
  struct State {
    uint32_t point;     // of the baseline's resume points
    uint32_t operands;  // where in Code::operands stand the plan's operands for that point's registers
  };
  static constexpr int32_t kNone = -1;

  std::shared_ptr<const Code> baseline;
  std::vector<State> states;
  std::vector<int32_t> state_at;   // by instruction; kNone: what fails there is the model's own failure
  std::vector<const Node*> nodes;  // by instruction: what it was made of, in the plan's graph
  std::unique_ptr<BailoutRecord> record;
};

class Code {
 public:
  std::string function_name;
  std::vector<Instruction> instructions;
  std::vector<int32_t> operands;
  std::vector<c10::IValue> constants;
  uint32_t num_registers = 0;
  uint32_t num_inputs = 0;  // they arrive in registers 0, 1, ...
  std::vector<bool> scalar_registers;

  std::vector<TypeOperand> types;
  std::vector<SliceOperand> slices;
  std::vector<InterfaceCall> interface_calls;
  std::vector<AttributeOperand> attributes;
  std::vector<std::shared_ptr<const Code>> closures;

  std::vector<ResumePoint> resume_points;  // by anchor; empty if nobody asked for them
  std::unique_ptr<Bailouts> bailouts;      // of a plan; null otherwise
  std::unique_ptr<const Arenas> arenas;    // null where no instruction asks for a slot

  std::vector<InstructionOrigin> origins;  // one an instruction
  std::vector<InlinedFrame> inlined;
};

}  // namespace hearth
