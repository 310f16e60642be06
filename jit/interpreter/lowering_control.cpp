#include <algorithm>
#include <limits>
#include <utility>

#include "jit/interpreter/lowering.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// The value of a prim::Constant; null for other nodes.
const c10::IValue* ConstantOf(const Value* value) {
  const Node* node = value->node();
  return node->kind() == sym::kConstant ? &node->attribute<c10::IValue>(sym::kValueAttr) : nullptr;
}

bool IsConstantTrue(const Value* value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isBool() && constant->toBool();
}

bool DefinedIn(const Block& block, const Value* value) { return value->node()->block() == &block; }

}  // namespace

void Lowering::LowerBlock(const Block& block) {
  for (const Node* node : block) {
    if (!resume_at_.empty()) AddResumePoint(node);
    LowerNode(node);
  }
  DropAll(liveness_.DeadBefore(block.return_node()), block.return_node());
}

size_t Lowering::EmitJumpIfFalse(const Node* node, const Value* condition) {
  Instruction* jump;
  if (pending_ && pending_->value == condition) {
    jump = &Emit(pending_->jump, node);
    jump->a = pending_->a;
    jump->b = pending_->b;
    pending_.reset();
  } else {
    const int32_t operand = Operand(condition);
    jump = &Emit(Opcode::kJumpIfFalse, node);
    jump->b = operand;
  }
  return static_cast<size_t>(jump - code_->instructions.data());
}

int32_t Lowering::ChooseJoin(const Node* node, size_t i, const std::vector<int32_t>& chosen) {
  const Value* output = node->output(i);
  const bool scalar = IsScalar(output);
  const auto is_open = [&](int32_t reg) {
    return registers_.IsScalar(reg) == scalar && std::find(chosen.begin(), chosen.end(), reg) == chosen.end();
  };
  // The register of a Value that some branch passes through and that is dead afterwards, so that it stays where it is.
  const std::vector<const Value*>& ending = liveness_.EndsIn(node);
  const auto ends_here = [&](int32_t reg) {
    return std::any_of(ending.begin(), ending.end(), [&](const Value* value) { return location_[value->id()] == reg; });
  };
  const int32_t wanted = wanted_[output->id()];
  if (wanted != kNoRegister && is_open(wanted) && (registers_.IsFree(wanted) || ends_here(wanted))) return wanted;
  for (const Block* branch : node->blocks()) {
    const Value* returned = branch->returns()[i];
    if (DefinedIn(*branch, returned) || !InRegister(returned) || IsCounter(returned)) continue;
    if (std::find(ending.begin(), ending.end(), returned) == ending.end()) continue;
    if (is_open(Operand(returned))) return Operand(returned);
  }
  const int32_t fresh = registers_.Allocate(scalar);
  registers_.Free(fresh);
  return fresh;
}

void Lowering::LowerIf(const Node* node) {
  const size_t to_else = EmitJumpIfFalse(node, node->input());
  if (liveness_.DiesAt(node->input(), node)) Release(node->input());

  std::vector<int32_t> joins;
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    joins.push_back(ChooseJoin(node, i, joins));
    registers_.Reserve(joins.back());
    for (const Block* branch : node->blocks()) {
      const Value* returned = branch->returns()[i];
      if (DefinedIn(*branch, returned) && wanted_[returned->id()] == kNoRegister)
        wanted_[returned->id()] = joins.back();
    }
  }

  const std::vector<bool> before = registers_.Snapshot();
  const int32_t frame_state = frame_state_;
  LowerBranch(node, *node->block(0));
  MoveReturns(*node->block(0), 0, joins);
  bool effects = std::exchange(frame_state_, frame_state) != frame_state;
  const size_t after_then = code_->instructions.size();
  Emit(Opcode::kJump, node);
  PatchTarget(to_else);
  registers_.Restore(before);
  LowerBranch(node, *node->block(1));
  MoveReturns(*node->block(1), 0, joins);
  effects |= frame_state_ != frame_state;
  if (effects) frame_state_ = Bailouts::kNone;
  if (code_->instructions.size() == after_then + 1) {
    // An empty else: nothing to jump over.
    TakeBack();
    PatchTarget(to_else);
  } else {
    PatchTarget(after_then);
  }

  registers_.Restore(before);
  for (const Value* value : liveness_.EndsIn(node)) Release(value);
  for (size_t i = 0; i < joins.size(); ++i) {
    registers_.Unreserve(joins[i]);
    registers_.Take(joins[i]);
    location_[node->output(i)->id()] = joins[i];
  }
  DropUnusedOutputs(node);
}

void Lowering::LowerBranch(const Node* node, const Block& branch) {
  DropAll(liveness_.DeadOnEntry(&branch), node);
  LowerBlock(branch);
}

void Lowering::LowerLoop(const Node* node) {
  const Block& body = *node->block(0);
  const Value* max = node->input(0);
  const Value* start = node->input(1);
  const size_t carried = node->outputs().size();

  // A carried Value takes over its initial Value's register if that one is dead from here on.
  std::vector<int32_t> joins;
  std::vector<Move> entry;
  for (size_t i = 0; i < carried; ++i) {
    const Value* initial = node->input(i + 2);
    const Value* output = node->output(i);
    const bool dies = InRegister(initial) && liveness_.DiesAt(initial, node) && !IsCounter(initial);
    int32_t join = kNoRegister;
    if (dies && registers_.IsScalar(Operand(initial)) == IsScalar(output) &&
        std::find(joins.begin(), joins.end(), Operand(initial)) == joins.end()) {
      join = Operand(initial);
    } else {
      join = registers_.Allocate(IsScalar(output), wanted_[output->id()]);
    }
    joins.push_back(join);
    entry.push_back({join, Operand(initial), dies});
  }
  const bool stays = IsConstantTrue(start) && IsConstantTrue(body.returns()[0]);
  const c10::IValue* max_constant = ConstantOf(max);
  const bool counts = max_constant == nullptr || max_constant->toInt() != std::numeric_limits<int64_t>::max() ||
                      body.param(0)->HasUses();
  // The start condition may lie in a register that an entry move overwrites: keep it.
  int32_t start_operand = Operand(start);
  int32_t start_copy = kNoRegister;
  if (std::any_of(entry.begin(), entry.end(), [&](const Move& move) { return move.to == start_operand; })) {
    start_copy = registers_.Allocate(true);
    EmitMove({start_copy, start_operand, false}, node);
    start_operand = start_copy;
  }
  EmitMoves(entry, node);
  int32_t counter = kNoRegister;
  if (counts) {
    counter = registers_.Allocate(true);
    EmitMove({counter, NewConstant(int64_t{0}), false}, node);
  }
  size_t enter = 0;
  const bool always_enters = IsConstantTrue(start) && max_constant != nullptr && max_constant->toInt() > 0;
  if (!always_enters) {
    enter = code_->instructions.size();
    const int32_t max_operand = Operand(max);
    Instruction& instruction = Emit(Opcode::kLoopEnter, node);
    instruction.a = max_operand;
    instruction.b = start_operand;
  }
  if (start_copy != kNoRegister) registers_.Free(start_copy);
  for (const Value* input : node->inputs()) {
    if (InRegister(input) && liveness_.DiesAt(input, node)) Release(input);
  }
  for (int32_t join : joins) registers_.Take(join);

  const std::vector<bool> before = registers_.Snapshot();
  if (counts) {
    // The back-edge reads it, also where the body does so for the last time earlier.
    registers_.Reserve(counter);
    location_[body.param(0)->id()] = counter;
  }
  for (size_t i = 0; i < carried; ++i) {
    registers_.Reserve(joins[i]);
    location_[body.param(i + 1)->id()] = joins[i];
    const Value* returned = body.returns()[i + 1];
    if (DefinedIn(body, returned) && wanted_[returned->id()] == kNoRegister) wanted_[returned->id()] = joins[i];
  }
  const size_t begin = code_->instructions.size();
  const int32_t frame_state = frame_state_;
  for (size_t i = 0; i < carried; ++i) {
    const Value* param = body.param(i + 1);
    if (!param->HasUses()) DropAll({param}, node);
  }
  LowerBlock(body);
  // What the body's last FrameState refers to is gone at the back-edge, where a run may be stopped.
  if (frame_state_ != frame_state) frame_state_ = Bailouts::kNone;

  // The condition must outlive the moves into the carried registers.
  const Value* next = body.returns()[0];
  int32_t condition = Operand(next);
  if (std::find(joins.begin(), joins.end(), condition) != joins.end()) {
    const int32_t copy = registers_.Allocate(true);
    EmitMove({copy, condition, false}, node);
    condition = copy;
  }
  MoveReturns(body, 1, joins);
  const int32_t max_operand = Operand(max);
  Instruction& back =
      Emit(stays ? Opcode::kForBack : (counts ? Opcode::kLoopBack : Opcode::kWhileBack), body.return_node());
  back.a = max_operand;
  back.b = condition;
  back.c = counter;
  back.target = static_cast<int32_t>(begin);
  if (stays && !counts) back.opcode = Opcode::kWhileBack;  // without end but by raising or cancelling
  if (!always_enters) PatchTarget(enter);

  registers_.Restore(before);
  if (counts) {
    registers_.Unreserve(counter);
    registers_.Free(counter);
  }
  for (int32_t join : joins) {
    registers_.Unreserve(join);
    registers_.Take(join);
  }
  for (size_t i = 0; i < carried; ++i) location_[node->output(i)->id()] = joins[i];
  DropAll(liveness_.DeadAfter(node), node);
  DropUnusedOutputs(node);
}

void Lowering::LowerWith(const Node* node) {
  const Block& body = *node->block(0);
  Value* manager = node->input();
  const bool dies = InRegister(manager) && liveness_.DiesAt(manager, node);

  // The manager stays on the state's list of entered objects, so that an exception finds it.
  const size_t enter = code_->instructions.size();
  Emit(Opcode::kWithEnter, node).a = Operand(manager);
  const size_t call_enter = code_->instructions.size();
  Emit(Opcode::kCall, node);
  code_->operands.push_back(Operand(manager));
  At(call_enter).operands = static_cast<uint32_t>(code_->operands.size() - 1);
  At(call_enter).num_inputs = 1;
  At(call_enter).num_outputs = 1;
  if (dies) {
    At(call_enter).dying = IsScalar(manager) ? 0 : 1;
    Release(manager);
  }
  SetCallee(call_enter, manager->type(), "__enter__");
  At(enter).target = 0;
  const Value* entered = body.params().empty() ? nullptr : body.param(0);
  const int32_t result = entered != nullptr ? Define(entered) : registers_.Allocate(false);
  code_->operands.push_back(result);
  if (entered == nullptr) {
    Emit(Opcode::kDrop, node).c = result;
    registers_.Free(result);
  } else if (!entered->HasUses()) {
    DropAll({entered}, node);
  }

  std::vector<int32_t> joins;
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    joins.push_back(ChooseJoin(node, i, joins));
    registers_.Reserve(joins.back());
    const Value* returned = body.returns()[i];
    if (DefinedIn(body, returned) && wanted_[returned->id()] == kNoRegister) wanted_[returned->id()] = joins.back();
  }
  const std::vector<bool> before = registers_.Snapshot();
  LowerBlock(body);
  MoveReturns(body, 0, joins);
  registers_.Restore(before);
  for (const Value* value : liveness_.EndsIn(node)) Release(value);
  if (entered != nullptr) Release(entered);
  for (size_t i = 0; i < joins.size(); ++i) {
    registers_.Unreserve(joins[i]);
    registers_.Take(joins[i]);
    location_[node->output(i)->id()] = joins[i];
  }

  // __exit__(manager, None, None, None); the manager comes off the list into a register first.
  const int32_t self = registers_.Allocate(false);
  Emit(Opcode::kWithExit, node).c = self;
  const size_t call_exit = code_->instructions.size();
  Emit(Opcode::kCall, node);
  At(call_exit).operands = static_cast<uint32_t>(code_->operands.size());
  At(call_exit).num_inputs = 4;
  At(call_exit).num_outputs = 1;
  At(call_exit).dying = 1;
  code_->operands.insert(code_->operands.end(), {self, none_, none_, none_, self});
  SetCallee(call_exit, manager->type(), "__exit__");
  Emit(Opcode::kDrop, node).c = self;
  registers_.Free(self);
  DropUnusedOutputs(node);
}

void Lowering::LowerClosure(const Node* node) {
  const bool is_fork = node->kind() == sym::kFork;
  Lowering closure(*node->block(0), is_fork ? "<forked function>" : "<awaitable function>");
  code_->closures.push_back(closure.Run());
  // What the future will hold.
  const TypePtr& type = node->output()->type();
  code_->types.push_back({type->containedTypeSize() == 1 ? type->containedType(0) : c10::AnyType::get(), {}});
  Instruction& instruction = At(EmitNode(is_fork ? Opcode::kFork : Opcode::kAwaitable, node));
  instruction.target = static_cast<int32_t>(code_->closures.size() - 1);
  instruction.a = static_cast<int32_t>(code_->types.size() - 1);
}

void Lowering::MoveReturns(const Block& block, size_t first, std::span<const int32_t> targets) {
  std::vector<Move> moves;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Value* value = block.returns()[first + i];
    const int32_t from = Operand(value);
    moves.push_back({targets[i], from, from >= 0 && liveness_.DiesAt(value, block.return_node())});
  }
  EmitMoves(std::move(moves), block.return_node());
}

// All at once: a register is overwritten only after everything that reads it has been moved.
void Lowering::EmitMoves(std::vector<Move> moves, const Node* origin) {
  // What stays where it is must not be moved out of there for another target.
  for (const Move& stays : moves) {
    if (stays.to != stays.from) continue;
    for (Move& move : moves) move.dies = move.dies && move.from != stays.from;
  }
  std::erase_if(moves, [](const Move& move) { return move.to == move.from; });
  while (!moves.empty()) {
    const auto is_read = [&](int32_t reg) {
      return std::any_of(moves.begin(), moves.end(), [&](const Move& move) { return move.from == reg; });
    };
    auto ready = std::find_if(moves.begin(), moves.end(), [&](const Move& move) { return !is_read(move.to); });
    if (ready == moves.end()) {
      // Only cycles are left: free one register of the first.
      const int32_t blocked = moves.front().to;
      const int32_t spare = registers_.Allocate(registers_.IsScalar(blocked));
      EmitMove({spare, blocked, true}, origin);
      for (Move& move : moves) {
        if (move.from != blocked) continue;
        move.from = spare;
        move.dies = true;
      }
      registers_.Free(spare);
      continue;
    }
    Move move = *ready;
    moves.erase(ready);
    move.dies = move.dies && !is_read(move.from);
    EmitMove(move, origin);
  }
}

void Lowering::EmitMove(const Move& move, const Node* origin) {
  const bool to_scalar = registers_.IsScalar(move.to);
  const bool from_scalar = move.from < 0 || registers_.IsScalar(move.from);
  Opcode opcode = move.dies ? Opcode::kMoveLast : Opcode::kMove;
  if (to_scalar) opcode = from_scalar ? Opcode::kMoveScalar : Opcode::kMoveToScalar;
  Instruction& instruction = Emit(opcode, origin);
  instruction.a = move.from;
  instruction.c = move.to;
}

void Lowering::DropAll(const std::vector<const Value*>& values, const Node* origin) {
  for (const Value* value : values) {
    if (!InRegister(value)) continue;
    if (!registers_.IsScalar(Operand(value))) Emit(Opcode::kDrop, origin).c = Operand(value);
    Release(value);
  }
}

void Lowering::DropUnusedOutputs(const Node* node) {
  for (const Value* output : node->outputs()) {
    if (!output->HasUses()) DropAll({output}, node);
  }
}

}  // namespace hearth
