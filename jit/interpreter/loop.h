// The dispatch loop. Each instruction jumps to the next one's code itself, so that the processor predicts them apart.
//
// A template over who is told of each instruction before it runs, for loop.cpp and timed_loop.cpp alone: one instance
// in each, so that the compiler treats the loop of all other runs as if there were no second one.
#pragma once

#include <cstring>
#include <stdexcept>

#include "jit/analysis/value_profile.h"
#include "jit/interpreter/awaitable.h"
#include "jit/interpreter/call.h"
#include "jit/interpreter/containers.h"
#include "jit/interpreter/run_group.h"
#include "jit/interpreter/state.h"
#include "jit/interpreter/traceback.h"
#include "jit/interpreter/work_share.h"
#include "jit/operators/native_support.h"

namespace hearth {
namespace loop {

// Writes a scalar register: what was there holds no reference.
template <typename T>
inline void SetScalar(c10::IValue* reg, T value) {
  new (reg) c10::IValue(value);
}

inline void CopyScalar(c10::IValue* to, const c10::IValue& from) {
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(&from), sizeof(c10::IValue));
}

inline bool IsNone(const c10::IValue& value) {
  return value.isNone() || (value.isTensor() && !value.toTensor().defined());
}

inline size_t ListPosition(int64_t index, size_t size) {
  const int64_t position = index < 0 ? index + static_cast<int64_t>(size) : index;
  if (position < 0 || position >= static_cast<int64_t>(size)) throw std::out_of_range("list index out of range");
  return static_cast<size_t>(position);
}

[[noreturn]] inline void Raise(const c10::IValue& message, const c10::IValue* class_name) {
  throw RaisedException{class_name != nullptr && class_name->isString() ? class_name->toStringRef() : "RuntimeError",
                        message.isString() ? message.toStringRef() : c10::str(message)};
}

}  // namespace loop

template <typename Timer>
InterpreterState::Outcome InterpreterState::LoopWith(Timer timer) {
  using c10::IValue;
  static const void* const kLabels[] = {
#define HEARTH_LABEL(name) &&do_##name,
      HEARTH_OPCODES(HEARTH_LABEL)
#undef HEARTH_LABEL
  };

  // The innermost frame's, kept in processor registers.
  const Code* code;
  const Instruction* pc;
  IValue* regs;
  const IValue* constants;
  const int32_t* operand_list;
  int32_t fuel = 0;
  const int32_t failing_guard = options_.failing_guard;
  const IValue* inputs[kMaxNativeInputs];
  IValue results[kMaxNativeOutputs];

#define ENTER_FRAME()                      \
  do {                                     \
    const Frame& frame = frames_.back();   \
    code = frame.code;                     \
    pc = frame.pc;                         \
    regs = registers_.data() + frame.base; \
    constants = code->constants.data();    \
    operand_list = code->operands.data();  \
  } while (0)
#define DISPATCH()                                  \
  do {                                              \
    timer.Begin(*code, pc);                         \
    goto* kLabels[static_cast<size_t>(pc->opcode)]; \
  } while (0)
#define NEXT()  \
  do {          \
    ++pc;       \
    DISPATCH(); \
  } while (0)
#define GO(destination)                             \
  do {                                              \
    pc = code->instructions.data() + (destination); \
    DISPATCH();                                     \
  } while (0)
#define AT(operand) ((operand) >= 0 ? regs[operand] : constants[~(operand)])
#define OPERANDS() (operand_list + pc->operands)
#define OUTPUT(i) regs[OPERANDS()[pc->num_inputs + (i)]]
#define BURN(amount)                                                     \
  do {                                                                   \
    if (__builtin_expect((fuel -= (amount)) < 0, 0)) fuel = Safepoint(); \
  } while (0)
// Drops what was used for the last time.
#define RELEASE()                                                                           \
  do {                                                                                      \
    for (uint32_t dying = pc->dying; __builtin_expect(dying != 0, 0); dying &= dying - 1) { \
      regs[OPERANDS()[__builtin_ctz(dying)]] = IValue();                                    \
    }                                                                                       \
  } while (0)
#define SCALAR_BINARY(name, is_type, T, expression)                                \
  do_##name : {                                                                    \
    const IValue& left = AT(pc->a);                                                \
    const IValue& right = AT(pc->b);                                               \
    if (__builtin_expect(!left.is_type() || !right.is_type(), 0)) goto bad_scalar; \
    const T a = native::Get<T>(left);                                              \
    const T b = native::Get<T>(right);                                             \
    loop::SetScalar(&regs[pc->c], expression);                                     \
    NEXT();                                                                        \
  }
#define INT_BINARY(name, expression) SCALAR_BINARY(name, isInt, int64_t, expression)
#define FLOAT_BINARY(name, expression) SCALAR_BINARY(name, isDouble, double, expression)
#define JUMP_UNLESS(name, expression)                                          \
  do_##name : {                                                                \
    const IValue& left = AT(pc->a);                                            \
    const IValue& right = AT(pc->b);                                           \
    if (__builtin_expect(!left.isInt() || !right.isInt(), 0)) goto bad_scalar; \
    const int64_t a = native::Get<int64_t>(left);                              \
    const int64_t b = native::Get<int64_t>(right);                             \
    if (expression) NEXT();                                                    \
    GO(pc->target);                                                            \
  }

  ENTER_FRAME();
  try {
    // In here, because a run that was cancelled before it began is told as any other.
    fuel = Safepoint();
    DISPATCH();

  do_Move:
    regs[pc->c] = AT(pc->a);
    NEXT();
  do_MoveLast:
    regs[pc->c] = std::move(regs[pc->a]);
    NEXT();
  do_MoveScalar:
    loop::CopyScalar(&regs[pc->c], AT(pc->a));
    NEXT();
  do_MoveToScalar : {
    // From a register of values that only a cast without check calls numbers.
    const IValue& value = regs[pc->a];
    TORCH_CHECK(value.isInt() || value.isDouble() || value.isBool() || value.isNone(), "Expected a number but got ",
                value.tagKind());
    loop::CopyScalar(&regs[pc->c], value);
  }
    NEXT();
  do_Drop:
    regs[pc->c] = IValue();
    NEXT();

  do_Jump:
    GO(pc->target);
  do_JumpIfFalse:
    if (native::Get<bool>(AT(pc->b))) NEXT();
    GO(pc->target);
    JUMP_UNLESS(JumpUnlessLtInt, a < b)
    JUMP_UNLESS(JumpUnlessLeInt, a <= b)
    JUMP_UNLESS(JumpUnlessGtInt, a > b)
    JUMP_UNLESS(JumpUnlessGeInt, a >= b)
    JUMP_UNLESS(JumpUnlessEqInt, a == b)
    JUMP_UNLESS(JumpUnlessNeInt, a != b)

  // Loops: `a` is the trip count, `b` the condition, `c` the counter. The entry jumps over a loop that has no
  // iteration; the back-edges jump to the body's first instruction.
  do_LoopEnter:
    if (native::Get<int64_t>(AT(pc->a)) > 0 && native::Get<bool>(AT(pc->b))) NEXT();
    GO(pc->target);
  do_ForBack : {
    BURN(1);
    const int64_t next = native::Get<int64_t>(regs[pc->c]) + 1;
    loop::SetScalar(&regs[pc->c], next);
    if (next < native::Get<int64_t>(AT(pc->a))) GO(pc->target);
  }
    NEXT();
  do_WhileBack:
    BURN(1);
    if (native::Get<bool>(AT(pc->b))) GO(pc->target);
    NEXT();
  do_LoopBack : {
    BURN(1);
    const int64_t next = native::Get<int64_t>(regs[pc->c]) + 1;
    loop::SetScalar(&regs[pc->c], next);
    if (next < native::Get<int64_t>(AT(pc->a)) && native::Get<bool>(AT(pc->b))) GO(pc->target);
  }
    NEXT();

    INT_BINARY(AddInt, static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)))
    INT_BINARY(SubInt, static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)))
    INT_BINARY(MulInt, static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)))
    INT_BINARY(LtInt, a < b)
    INT_BINARY(LeInt, a <= b)
    INT_BINARY(GtInt, a > b)
    INT_BINARY(GeInt, a >= b)
    INT_BINARY(EqInt, a == b)
    INT_BINARY(NeInt, a != b)
    FLOAT_BINARY(AddFloat, a + b)
    FLOAT_BINARY(SubFloat, a - b)
    FLOAT_BINARY(MulFloat, a * b)
    FLOAT_BINARY(DivFloat, a / b)
    FLOAT_BINARY(LtFloat, a < b)
    FLOAT_BINARY(LeFloat, a <= b)
    FLOAT_BINARY(GtFloat, a > b)
    FLOAT_BINARY(GeFloat, a >= b)
  do_Not:
    loop::SetScalar(&regs[pc->c], !native::Get<bool>(AT(pc->a)));
    NEXT();
  do_IsNone:
    loop::SetScalar(&regs[pc->c], loop::IsNone(AT(pc->a)));
    RELEASE();
    NEXT();
  do_IsNotNone:
    loop::SetScalar(&regs[pc->c], !loop::IsNone(AT(pc->a)));
    RELEASE();
    NEXT();

  do_ListGet : {
    const std::vector<IValue>& list = native::Elements(AT(pc->a));
    const IValue& element = list[loop::ListPosition(native::Get<int64_t>(AT(pc->b)), list.size())];
    if (pc->c == pc->a) {
      // The list dies with this assignment and its element must not go with it.
      IValue held = element;
      regs[pc->c] = std::move(held);
    } else {
      regs[pc->c] = element;
      RELEASE();
    }
  }
    NEXT();
  do_ListLen:
    loop::SetScalar(&regs[pc->c], static_cast<int64_t>(native::Elements(AT(pc->a)).size()));
    RELEASE();
    NEXT();

  do_Native : {
    const int32_t* operands = OPERANDS();
    const size_t count = pc->num_inputs;
    for (size_t i = 0; i < count; ++i) inputs[i] = &AT(operands[i]);
    {
      const WorkShare share(static_cast<WorkMeasure>(pc->c), {inputs, count});
      pc->native({inputs, count}, &regs[operands[count]]);
    }
    RELEASE();
    BURN(pc->cost);
  }
    NEXT();
  do_NativeWide : {
    const int32_t* operands = OPERANDS();
    const size_t count = pc->num_inputs;
    for (size_t i = 0; i < count; ++i) inputs[i] = &AT(operands[i]);
    {
      const WorkShare share(static_cast<WorkMeasure>(pc->c), {inputs, count});
      pc->native({inputs, count}, results);
    }
    RELEASE();
    for (size_t i = 0; i < pc->num_outputs; ++i) regs[operands[count + i]] = std::move(results[i]);
    // An operator whose result nobody declared leaves none behind.
    if (pc->num_outputs == 0) results[0] = IValue();
    BURN(pc->cost);
  }
    NEXT();
  do_Boxed:
    ExecuteBoxed(*pc, regs, constants, OPERANDS());
    BURN(pc->cost);
    NEXT();

  do_ListConstruct : {
    IValue list = native::MakeList(code->types[static_cast<size_t>(pc->target)].type->containedType(0),
                                   TakeInputs(*pc, regs, constants, OPERANDS()));
    OUTPUT(0) = std::move(list);
  }
    NEXT();
  do_DictConstruct : {
    IValue dict =
        MakeDict(*code->types[static_cast<size_t>(pc->target)].type, TakeInputs(*pc, regs, constants, OPERANDS()));
    OUTPUT(0) = std::move(dict);
  }
    NEXT();
  do_TupleConstruct : {
    IValue tuple = c10::ivalue::Tuple::create(TakeInputs(*pc, regs, constants, OPERANDS()));
    OUTPUT(0) = std::move(tuple);
  }
    NEXT();
  do_NamedTupleConstruct : {
    const auto& type = code->types[static_cast<size_t>(pc->target)].type;
    IValue tuple =
        c10::ivalue::Tuple::createNamed(TakeInputs(*pc, regs, constants, OPERANDS()), type->expect<c10::TupleType>());
    OUTPUT(0) = std::move(tuple);
  }
    NEXT();
  do_ListUnpack : {
    const IValue list = std::move(TakeInputs(*pc, regs, constants, OPERANDS())[0]);
    const std::vector<IValue>& elements = native::Elements(list);
    TORCH_CHECK(elements.size() == pc->num_outputs, "Expected ", pc->num_outputs, " elements in a list but found ",
                elements.size());
    for (size_t i = 0; i < elements.size(); ++i) OUTPUT(i) = elements[i];
  }
    NEXT();
  do_TupleUnpack : {
    const IValue tuple = std::move(TakeInputs(*pc, regs, constants, OPERANDS())[0]);
    const auto& elements = tuple.toTupleRef().elements();
    TORCH_CHECK(elements.size() == pc->num_outputs, "Expected ", pc->num_outputs, " elements in a tuple but found ",
                elements.size());
    for (size_t i = 0; i < elements.size(); ++i) OUTPUT(i) = elements[i];
  }
    NEXT();
  do_TupleGet : {
    const auto& elements = AT(OPERANDS()[0]).toTupleRef().elements();
    const int64_t index = pc->num_inputs == 1 ? pc->target : native::Get<int64_t>(AT(OPERANDS()[1]));
    const int64_t size = static_cast<int64_t>(elements.size());
    const int64_t position = index < 0 ? index + size : index;
    if (position < 0 || position >= size) throw std::out_of_range("Tuple list index out of range");
    IValue element = elements[static_cast<size_t>(position)];
    OUTPUT(0) = std::move(element);
    RELEASE();
  }
    NEXT();
  do_TupleSlice : {
    const SliceOperand& slice = code->slices[static_cast<size_t>(pc->target)];
    const auto& elements = AT(OPERANDS()[0]).toTupleRef().elements();
    TORCH_CHECK(slice.begin >= 0 && slice.begin <= slice.end && static_cast<size_t>(slice.end) <= elements.size(),
                "Tuple slice out of range");
    std::vector<IValue> picked(elements.begin() + slice.begin, elements.begin() + slice.end);
    OUTPUT(0) = c10::ivalue::Tuple::create(std::move(picked));
    RELEASE();
  }
    NEXT();
  do_GetAttr : {
    const IValue& object = AT(OPERANDS()[0]);
    const auto& slots = object.toObjectRef().slots();
    IValue value = static_cast<size_t>(pc->a) < slots.size()
                       ? slots[static_cast<size_t>(pc->a)]
                       : object.toObjectRef().getAttr(code->attributes[static_cast<size_t>(pc->target)].name);
    OUTPUT(0) = std::move(value);
    RELEASE();
  }
    NEXT();
  do_SetAttr : {
    std::vector<IValue> taken = TakeInputs(*pc, regs, constants, OPERANDS());
    c10::ivalue::Object& object = taken[0].toObjectRef();
    if (static_cast<size_t>(pc->a) < object.slots().size()) {
      object.setSlot(static_cast<size_t>(pc->a), std::move(taken[1]));
    } else {
      object.setAttr(code->attributes[static_cast<size_t>(pc->target)].name, std::move(taken[1]));
    }
  }
    NEXT();
  do_CreateObject:
    OUTPUT(0) = MakeObject(code->types[static_cast<size_t>(pc->target)].type);
    NEXT();
  do_IsInstance : {
    const bool is = IsInstance(AT(OPERANDS()[0]), code->types[static_cast<size_t>(pc->target)].types);
    OUTPUT(0) = is;
    RELEASE();
  }
    NEXT();
  do_ToList : {
    IValue list = TensorToList(AT(OPERANDS()[0]).toTensor(), code->types[static_cast<size_t>(pc->target)].type);
    OUTPUT(0) = std::move(list);
    RELEASE();
  }
    NEXT();

  do_Call : {
    const Code* callee = CodeFor(*pc->function);
    if (callee == nullptr) {
      CallForeign(*pc->function, *pc, regs, constants, OPERANDS());
      BURN(16);
      NEXT();
    }
    TORCH_CHECK(callee->num_inputs == pc->num_inputs, callee->function_name, " takes ", callee->num_inputs,
                " arguments but got ", pc->num_inputs);
    Frame& caller = frames_.back();
    caller.pc = pc;
    const size_t base = caller.base + code->num_registers;
    if (base + callee->num_registers > registers_.size()) {
      GrowRegisters(base + callee->num_registers);
      regs = registers_.data() + caller.base;
    }
    IValue* arguments = registers_.data() + base;
    const int32_t* operands = OPERANDS();
    for (uint32_t i = 0; i < callee->num_inputs; ++i) {
      if (i < 32 && (pc->dying >> i & 1) != 0) {
        arguments[i] = std::move(regs[operands[i]]);
      } else {
        arguments[i] = AT(operands[i]);
      }
    }
    PushFrame(*callee, base);
    ENTER_FRAME();
    BURN(1);
    DISPATCH();
  }
  do_CallForeign:
    CallForeign(*pc->foreign, *pc, regs, constants, OPERANDS());
    BURN(16);
    NEXT();
  do_CallInterface:
    frames_.back().pc = pc;
    if (EnterInterfaceCall(*pc, regs, constants, OPERANDS())) {
      ENTER_FRAME();
      BURN(1);
      DISPATCH();
    }
    BURN(16);
    NEXT();

  do_WithEnter:
    entered_.push_back({frames_.size() - 1, AT(pc->a)});
    NEXT();
  do_WithExit:
    regs[pc->c] = std::move(entered_.back().manager);
    entered_.pop_back();
    NEXT();

  do_Fork:
    frames_.back().pc = pc;
    if (EnterFork(*pc, regs, constants, OPERANDS())) {
      ENTER_FRAME();
      DISPATCH();
    }
    NEXT();
  do_Awaitable : {
    IValue awaitable =
        MakeAwaitable(code->closures[static_cast<size_t>(pc->target)], code->types[static_cast<size_t>(pc->a)].type,
                      TakeInputs(*pc, regs, constants, OPERANDS()));
    OUTPUT(0) = std::move(awaitable);
  }
    NEXT();
  do_Wait : {
    auto future = AT(OPERANDS()[0]).toFuture();
    if (!future->completed()) {
      TORCH_CHECK(!std::exchange(wait_fails_, false), kWaitsForItself);
      if (waiting_ == Waiting::kSuspends) {
        frames_.back().pc = pc;
        waiting_for_ = std::move(future);
        return Outcome::kSuspended;
      }
      BlockOn(*future);
    }
    IValue value = future->value();
    OUTPUT(0) = std::move(value);
    RELEASE();
  }
    NEXT();
  do_AwaitableWait : {
    bool entered = false;
    {
      // Ends before the jump to the body's first instruction, which would not run its destructor.
      auto awaitable = AT(OPERANDS()[0]).toAwait();
      if (!awaitable->completed()) {
        frames_.back().pc = pc;
        entered = EnterAwaitable(awaitable);
      }
      if (!entered) {
        IValue value = awaitable->wait();
        OUTPUT(0) = std::move(value);
        RELEASE();
      }
    }
    if (entered) {
      ENTER_FRAME();
      BURN(1);
      DISPATCH();
    }
  }
    NEXT();
  do_StateStep : {
    if (turn_ == nullptr && options_.turn != nullptr) turn_ = options_.turn->Take(static_cast<size_t>(pc->target));
    if (turn_ != nullptr && !turn_->completed()) {
      if (waiting_ == Waiting::kSuspends) {
        // Back to here, for the run may be woken only to be told to stop.
        frames_.back().pc = pc;
        waiting_for_ = turn_;
        return Outcome::kSuspended;
      }
      BlockOn(*turn_);
    }
    turn_ = nullptr;
  }
    NEXT();
  do_Guard : {
    bool holds = pc->target != failing_guard;
    const int32_t* operands = OPERANDS();
    for (size_t i = 0; i < pc->num_inputs; ++i) holds &= native::Get<bool>(AT(operands[i]));
    if (holds) NEXT();
    code->bailouts->record->CountGuardFailure(static_cast<size_t>(pc->target));
    frames_.back().pc = pc;
    BailOut();
    ENTER_FRAME();
    DISPATCH();
  }
  do_Observe:
    if (options_.samples != nullptr) options_.samples->Add(static_cast<size_t>(pc->target), AT(pc->a));
    NEXT();
  do_Arena:
    TakeArena(*code, *pc, regs, constants);
    RELEASE();
    NEXT();
  do_Slot : {
    const IValue& tensor = arena_->tensor(static_cast<size_t>(pc->target));
    if (__builtin_expect(tensor.isNone(), 0)) {
      regs[pc->c] = arena_->Make(static_cast<size_t>(pc->target));
    } else {
      regs[pc->c] = tensor;
    }
  }
    NEXT();
  do_Placed:
    ExecutePlaced(*pc, regs, constants, OPERANDS());
    BURN(pc->cost);
    NEXT();
  do_Raise:
    loop::Raise(AT(OPERANDS()[0]), pc->num_inputs > 1 ? &AT(OPERANDS()[1]) : nullptr);

  do_Return : {
    IValue value;
    if (pc->num_inputs == 1) {
      const int32_t operand = OPERANDS()[0];
      if (pc->dying != 0) {
        value = std::move(regs[operand]);
      } else {
        value = AT(operand);
      }
    } else if (pc->num_inputs > 1) {
      value = c10::ivalue::Tuple::create(TakeInputs(*pc, regs, constants, OPERANDS()));
    }
    if (frames_.size() == 1) {
      frames_.pop_back();
      result_ = std::move(value);
      return Outcome::kDone;
    }
    if (frames_.back().future) {
      LeaveInlineFork();
      const auto future = std::move(frames_.back().future);
      frames_.pop_back();
      ENTER_FRAME();
      future->markCompleted(std::move(value));
    } else if (frames_.back().awaitable) {
      const auto awaitable = std::move(frames_.back().awaitable);
      frames_.pop_back();
      ENTER_FRAME();
      Complete(*awaitable, value);
      OUTPUT(0) = std::move(value);
      RELEASE();
    } else {
      frames_.pop_back();
      ENTER_FRAME();
      OUTPUT(0) = std::move(value);
    }
  }
    NEXT();

  bad_scalar:
    TORCH_CHECK(false, "Expected numbers but got ", AT(pc->a).tagKind(), " and ", AT(pc->b).tagKind());
  } catch (...) {
    frames_.back().pc = pc;
    error_ = std::current_exception();
    return Outcome::kRaised;
  }
}

}  // namespace hearth
