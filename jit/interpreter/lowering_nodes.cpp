#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "jit/definitions/node_effects.h"
#include "jit/interpreter/lowering.h"
#include "jit/interpreter/work_share.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/module/compilation_unit.h"
#include "jit/module/function.h"
#include "jit/support/load_budget.h"

namespace hearth {
namespace {

constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();

// Operators that are an instruction of their own. A comparison also has the jump that does it and its If in one.
struct InlineOperator {
  Opcode opcode;
  Opcode jump = Opcode::kJump;
};

const InlineOperator* FindInline(const Operator& op) {
  static const auto* const kTable = new std::unordered_map<std::string_view, InlineOperator>{
      {"aten::add.int", {Opcode::kAddInt}},
      {"aten::sub.int", {Opcode::kSubInt}},
      {"aten::mul.int", {Opcode::kMulInt}},
      {"aten::lt.int", {Opcode::kLtInt, Opcode::kJumpUnlessLtInt}},
      {"aten::le.int", {Opcode::kLeInt, Opcode::kJumpUnlessLeInt}},
      {"aten::gt.int", {Opcode::kGtInt, Opcode::kJumpUnlessGtInt}},
      {"aten::ge.int", {Opcode::kGeInt, Opcode::kJumpUnlessGeInt}},
      {"aten::eq.int", {Opcode::kEqInt, Opcode::kJumpUnlessEqInt}},
      {"aten::ne.int", {Opcode::kNeInt, Opcode::kJumpUnlessNeInt}},
      {"aten::add.float", {Opcode::kAddFloat}},
      {"aten::sub.float", {Opcode::kSubFloat}},
      {"aten::mul.float", {Opcode::kMulFloat}},
      {"aten::div.float", {Opcode::kDivFloat}},
      {"aten::lt.float", {Opcode::kLtFloat}},
      {"aten::le.float", {Opcode::kLeFloat}},
      {"aten::gt.float", {Opcode::kGtFloat}},
      {"aten::ge.float", {Opcode::kGeFloat}},
      {"aten::__not__", {Opcode::kNot}},
      {"aten::__is__", {Opcode::kIsNone}},
      {"aten::__isnot__", {Opcode::kIsNotNone}},
      {"aten::__getitem__.t", {Opcode::kListGet}},
      {"aten::len.t", {Opcode::kListLen}},
  };
  std::string name = op.schema().name();
  if (!op.schema().overload_name().empty()) name += "." + op.schema().overload_name();
  auto found = kTable->find(name);
  return found == kTable->end() ? nullptr : &found->second;
}

bool IsNoneConstant(const Value* value) {
  return value->node()->kind() == sym::kConstant && value->node()->attribute<c10::IValue>(sym::kValueAttr).isNone();
}

// Instructions that take dying inputs over instead of releasing them afterwards.
bool TakesInputs(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBoxed:
    case Opcode::kListConstruct:
    case Opcode::kDictConstruct:
    case Opcode::kTupleConstruct:
    case Opcode::kNamedTupleConstruct:
    case Opcode::kListUnpack:
    case Opcode::kTupleUnpack:
    case Opcode::kSetAttr:
    case Opcode::kCall:
    case Opcode::kCallForeign:
    case Opcode::kCallInterface:
    case Opcode::kFork:
    case Opcode::kAwaitable:
    case Opcode::kReturn:
      return true;
    default:
      return false;
  }
}

// Operators on tensors take long enough to look at the clock more often.
uint16_t CostOf(const Operator& op) {
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.type()->isSubtypeOf(*c10::TensorType::get())) return 16;
  }
  return op.native() != nullptr ? 1 : 4;
}

}  // namespace

Lowering::Lowering(const Block& top, std::string function_name)
    : top_(top),
      code_(std::make_shared<Code>()),
      liveness_(top),
      location_(top.graph()->value_id_bound(), kNowhere),
      wanted_(top.graph()->value_id_bound(), kNoRegister) {
  code_->function_name = std::move(function_name);
  // A closure's calls begin with it, not with those that made it.
  if (top.owner() != nullptr) inlined_.emplace(top.owner()->inlined_call(), -1);
}

std::shared_ptr<Code> Lowering::Run() {
  none_ = NewConstant(c10::IValue());
  for (const Value* param : top_.params()) {
    // Arguments arrive in registers 0, 1, ...: no parameter is steered elsewhere, as none is free yet.
    Define(param);
  }
  code_->num_inputs = static_cast<uint32_t>(top_.params().size());
  for (const Value* param : top_.params()) {
    if (!param->HasUses()) DropAll({param}, top_.param_node());
  }
  LowerBlock(top_);
  EmitOperands(Opcode::kReturn, top_.return_node(), top_.returns(), {});
  code_->num_registers = registers_.size();
  for (uint32_t i = 0; i < registers_.size(); ++i) {
    code_->scalar_registers.push_back(registers_.IsScalar(static_cast<int32_t>(i)));
  }
  return code_;
}

void Lowering::LowerNode(const Node* node) {
  LoadBudget::Check();
  const Symbol kind = node->kind();
  if (kind == sym::kConstant) return LowerConstant(node);
  if (kind == sym::kUninitialized) {
    location_[node->output()->id()] = none_;
    return;
  }
  if (kind == sym::kIf) return LowerIf(node);
  if (kind == sym::kLoop) return LowerLoop(node);
  if (kind == sym::kWith) return LowerWith(node);
  if (IsTask(*node)) return LowerClosure(node);
  if (kind == sym::kUncheckedCast) return LowerUncheckedCast(node);
  if (kind == sym::kGetAttr || kind == sym::kSetAttr) return LowerAttribute(node);
  if (kind == sym::kTupleIndex) return LowerTupleIndex(node);
  if (kind == sym::kFrameState) return LowerFrameState(node);
  if (kind == sym::kGuard) return LowerGuard(node);
  if (kind == sym::kObserve) return LowerObserve(node);
  if (kind == sym::kStateStep) {
    Emit(Opcode::kStateStep, node).target = static_cast<int32_t>(node->attribute<int64_t>(sym::kStepAttr));
    return;
  }
  if (kind == sym::kArena) return LowerArena(node);
  if (kind == sym::kSlot) return LowerSlot(node);
  if (kind == sym::kCallFunction || kind == sym::kCallMethod) return LowerCall(node);
  if (kind == sym::kDictConstruct || kind == sym::kListConstruct || kind == sym::kToList ||
      kind == sym::kCreateObject) {
    code_->types.push_back({node->output()->type(), {}});
    const Opcode opcode = kind == sym::kDictConstruct   ? Opcode::kDictConstruct
                          : kind == sym::kListConstruct ? Opcode::kListConstruct
                          : kind == sym::kToList        ? Opcode::kToList
                                                        : Opcode::kCreateObject;
    // tolist may come with its registered operator's further inputs, which the output's type makes unneeded.
    const size_t inputs = kind == sym::kToList ? 1 : node->inputs().size();
    At(EmitOperands(opcode, node, node->inputs().first(inputs), node->outputs())).target =
        static_cast<int32_t>(code_->types.size() - 1);
    return;
  }
  if (kind == sym::kTupleConstruct) {
    const auto tuple = node->output()->type()->cast<c10::TupleType>();
    if (tuple == nullptr || tuple->schema() == nullptr) {
      EmitNode(Opcode::kTupleConstruct, node);
      return;
    }
    code_->types.push_back({tuple, {}});
    At(EmitNode(Opcode::kNamedTupleConstruct, node)).target = static_cast<int32_t>(code_->types.size() - 1);
    return;
  }
  if (kind == sym::kIsInstance) {
    code_->types.push_back({nullptr, node->attribute<std::vector<TypePtr>>(sym::kTypesAttr)});
    At(EmitNode(Opcode::kIsInstance, node)).target = static_cast<int32_t>(code_->types.size() - 1);
    return;
  }
  if (kind == sym::kTupleSlice) {
    code_->slices.push_back({static_cast<int32_t>(node->attribute<int64_t>(sym::kBeginAttr)),
                             static_cast<int32_t>(node->attribute<int64_t>(sym::kEndAttr))});
    At(EmitNode(Opcode::kTupleSlice, node)).target = static_cast<int32_t>(code_->slices.size() - 1);
    return;
  }
  if (kind == sym::kListUnpack) {
    EmitNode(Opcode::kListUnpack, node);
    return;
  }
  if (kind == sym::kTupleUnpack) {
    EmitNode(Opcode::kTupleUnpack, node);
    return;
  }
  if (kind == sym::kRaiseException) {
    EmitNode(Opcode::kRaise, node);
    return;
  }
  if (kind == c10::aten::wait || kind == c10::prim::awaitable_wait) {
    EmitNode(kind == c10::aten::wait ? Opcode::kWait : Opcode::kAwaitableWait, node);
    return;
  }
  LowerOperator(node);
}

void Lowering::LowerConstant(const Node* node) {
  location_[node->output()->id()] = NewConstant(node->attribute<c10::IValue>(sym::kValueAttr));
}

void Lowering::LowerOperator(const Node* node) {
  const Operator* op = node->op();
  TORCH_CHECK(op != nullptr, "the interpreter knows no ", node->kind().toQualString(), " that has no operator");
  if (LowerInline(node)) return;
  const bool native = op->native() != nullptr && node->inputs().size() <= kMaxNativeInputs &&
                      node->outputs().size() <= kMaxNativeOutputs;
  TORCH_CHECK(native || op->has_boxed(), "the operator ", op->schema().name(), " cannot be called");
  const bool has_place = node->HasAttribute(sym::kPlaceAttr);
  TORCH_CHECK(!has_place || node->outputs().size() == 1, "an operator with a place has one result");
  Opcode opcode = Opcode::kBoxed;
  if (has_place) {
    opcode = Opcode::kPlaced;
  } else if (native) {
    opcode = node->outputs().size() == 1 ? Opcode::kNative : Opcode::kNativeWide;
  }
  Instruction& instruction = At(EmitNode(opcode, node));
  instruction.cost = CostOf(*op);
  instruction.c = static_cast<int32_t>(WorkMeasureOf(*node));
  if (native && !has_place) {
    instruction.native = op->native();
    return;
  }
  instruction.op = op;
  // Operators of any number of arguments find that number on top of the stack.
  instruction.a = op->is_vararg() ? 1 : 0;
  if (!has_place) return;
  instruction.b = native ? 1 : 0;
  instruction.target = PlaceOf(node);
}

bool Lowering::LowerInline(const Node* node) {
  const InlineOperator* known = FindInline(*node->op());
  if (known == nullptr || node->op()->native() == nullptr) return false;
  Opcode opcode = known->opcode;
  std::span<Value* const> inputs = node->inputs();

  if (opcode == Opcode::kIsNone || opcode == Opcode::kIsNotNone) {
    if (IsNoneConstant(inputs[1])) {
      inputs = inputs.first(1);
    } else if (IsNoneConstant(inputs[0])) {
      inputs = inputs.last(1);
    } else {
      return false;
    }
  } else if (opcode != Opcode::kListGet && opcode != Opcode::kListLen) {
    for (const Value* input : inputs) {
      if (!IsScalar(input)) return false;
    }
    if (!IsScalar(node->output())) return false;
  } else if (opcode == Opcode::kListLen && !IsScalar(node->output())) {
    return false;
  }

  const Node* next = node->next();
  if (known->jump != Opcode::kJump && next->kind() == sym::kIf && next->input() == node->output() &&
      node->output()->uses().size() == 1) {
    pending_ = Comparison{node->output(), known->jump, Operand(inputs[0]), Operand(inputs[1])};
    for (const Value* input : inputs) {
      if (InRegister(input) && liveness_.DiesAt(input, node)) Release(input);
    }
    return true;
  }

  const size_t at = EmitOperands(opcode, node, inputs, node->outputs());
  Instruction& instruction = At(at);
  const int32_t* operands = code_->operands.data() + instruction.operands;
  instruction.a = operands[0];
  if (inputs.size() > 1) instruction.b = operands[1];
  instruction.c = operands[inputs.size()];
  return true;
}

// Without a check the value is just called something else.
void Lowering::LowerUncheckedCast(const Node* node) {
  const Value* input = node->input(0);
  const Value* output = node->output();
  const int32_t from = Operand(input);
  if (from < 0) {
    location_[output->id()] = from;
    return;
  }
  const bool dies = liveness_.DiesAt(input, node);
  if (dies) {
    Release(input);
    if (wanted_[output->id()] == kNoRegister) wanted_[output->id()] = from;
  }
  const int32_t to = Define(output);
  if (to != from) EmitMove({to, from, dies}, node);
  if (!output->HasUses()) DropAll({output}, node);
}

void Lowering::LowerAttribute(const Node* node) {
  const std::string& name = node->attribute<std::string>(sym::kNameAttr);
  const auto type = node->input(0)->type()->cast<c10::ClassType>();
  code_->attributes.push_back({name});
  Instruction& instruction = At(EmitNode(node->kind() == sym::kGetAttr ? Opcode::kGetAttr : Opcode::kSetAttr, node));
  // The slot, and where the name is for an object whose class is not known here.
  const std::optional<size_t> slot = type ? type->findAttributeSlot(name) : std::nullopt;
  instruction.a = slot ? static_cast<int32_t>(*slot) : -1;
  instruction.target = static_cast<int32_t>(code_->attributes.size() - 1);
}

void Lowering::LowerTupleIndex(const Node* node) {
  const Node* index = node->input(1)->node();
  if (index->kind() == sym::kConstant) {
    const c10::IValue& value = index->attribute<c10::IValue>(sym::kValueAttr);
    if (value.isInt() && value.toInt() >= -100000 && value.toInt() <= 100000) {
      At(EmitOperands(Opcode::kTupleGet, node, node->inputs().first(1), node->outputs())).target =
          static_cast<int32_t>(value.toInt());
      return;
    }
  }
  // An index known only at run time: TupleGet reads it from its second input.
  At(EmitNode(Opcode::kTupleGet, node)).target = 0;
}

void Lowering::LowerCall(const Node* node) {
  if (node->kind() == sym::kCallMethod) {
    const size_t at = EmitNode(Opcode::kCall, node);
    SetCallee(at, node->input(0)->type(), node->attribute<std::string>(sym::kNameAttr));
    return;
  }
  torch::jit::Function* callee = node->attribute<torch::jit::Function*>(sym::kFunctionAttr);
  const size_t at = EmitNode(Opcode::kCall, node);
  if (auto* function = dynamic_cast<Function*>(callee)) {
    At(at).function = function;
  } else {
    At(at).opcode = Opcode::kCallForeign;
    At(at).foreign = callee;
  }
}

void Lowering::SetCallee(size_t at, const TypePtr& self, const std::string& method) {
  Instruction& call = At(at);
  if (const auto type = self->cast<c10::ClassType>()) {
    torch::jit::Function* callee = FindMethod(*type, method);
    TORCH_CHECK(callee != nullptr, "the class ", self->repr_str(), " has no method ", method);
    if (auto* function = dynamic_cast<Function*>(callee)) {
      call.function = function;
    } else {
      call.opcode = Opcode::kCallForeign;
      call.foreign = callee;
    }
    return;
  }
  code_->interface_calls.push_back({method, std::make_unique<MethodCache>()});
  call.opcode = Opcode::kCallInterface;
  call.target = static_cast<int32_t>(code_->interface_calls.size() - 1);
}

Instruction& Lowering::Emit(Opcode opcode, const Node* origin) {
  code_->instructions.emplace_back().opcode = opcode;
  code_->origins.push_back({origin->kind(), origin->range(), OriginOf(origin->inlined_call())});
  if (code_->bailouts != nullptr) {
    code_->bailouts->state_at.push_back(frame_state_);
    code_->bailouts->nodes.push_back(origin);
  }
  return code_->instructions.back();
}

void Lowering::TakeBack() {
  code_->instructions.pop_back();
  code_->origins.pop_back();
  if (code_->bailouts != nullptr) {
    code_->bailouts->state_at.pop_back();
    code_->bailouts->nodes.pop_back();
  }
}

size_t Lowering::EmitNode(Opcode opcode, const Node* node) {
  return EmitOperands(opcode, node, node->inputs(), node->outputs());
}

size_t Lowering::EmitOperands(Opcode opcode, const Node* node, std::span<Value* const> inputs,
                              std::span<Value* const> outputs) {
  TORCH_CHECK(inputs.size() <= UINT16_MAX && outputs.size() <= UINT16_MAX, "too many operands");
  const size_t at = code_->instructions.size();
  Emit(opcode, node);
  const size_t first = code_->operands.size();
  for (const Value* input : inputs) code_->operands.push_back(Operand(input));

  uint32_t dying = 0;
  std::vector<int32_t> dropped_later;
  const std::span<Value* const> all_inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* input = inputs[i];
    if (Operand(input) < 0 || !liveness_.DiesAt(input, node)) continue;
    // A value that comes twice dies with its last appearance.
    if (std::find(inputs.begin() + static_cast<std::ptrdiff_t>(i) + 1, inputs.end(), input) != inputs.end()) continue;
    if (IsScalar(input)) continue;
    if (i < 32) {
      dying |= 1u << i;
    } else {
      dropped_later.push_back(Operand(input));
    }
  }
  // All of the node's inputs that die are free for its outputs, also those that the instruction does not read.
  for (const Value* input : all_inputs) {
    if (Operand(input) >= 0 && liveness_.DiesAt(input, node)) Release(input);
  }
  // A result that is wanted nowhere else goes where an operand has just died, whose memory it may then take over.
  for (size_t i = 0; outputs.size() == 1 && i < std::min<size_t>(inputs.size(), 32); ++i) {
    int32_t& wanted = wanted_[outputs[0]->id()];
    const int32_t reg = code_->operands[first + i];
    if (wanted == kNoRegister && (dying >> i & 1) != 0 && registers_.IsFree(reg) && !registers_.IsReserved(reg)) {
      wanted = reg;
    }
  }
  for (const Value* output : outputs) code_->operands.push_back(Define(output));
  if (!TakesInputs(opcode)) {
    for (size_t i = 0; i < std::min<size_t>(inputs.size(), 32); ++i) {
      const auto begin = code_->operands.begin() + static_cast<std::ptrdiff_t>(first + inputs.size());
      if (std::find(begin, code_->operands.end(), code_->operands[first + i]) != code_->operands.end()) {
        dying &= ~(1u << i);
      }
    }
  }
  // A result that went to the same register replaces what died there.
  std::erase_if(dropped_later, [&](int32_t reg) { return !registers_.IsFree(reg); });

  Instruction& instruction = At(at);
  instruction.num_inputs = static_cast<uint16_t>(inputs.size());
  instruction.num_outputs = static_cast<uint16_t>(outputs.size());
  instruction.operands = static_cast<uint32_t>(first);
  instruction.dying = dying;
  for (int32_t reg : dropped_later) Emit(Opcode::kDrop, node).c = reg;
  for (const Value* output : outputs) {
    if (!output->HasUses()) DropAll({output}, node);
  }
  return at;
}

int32_t Lowering::Operand(const Value* value) {
  const int32_t location = location_[value->id()];
  TORCH_INTERNAL_ASSERT(location != kNowhere, "%", value->id(), " is used before it is made");
  return location;
}

int32_t Lowering::Define(const Value* value) {
  return location_[value->id()] = registers_.Allocate(IsScalar(value), wanted_[value->id()]);
}

void Lowering::Release(const Value* value) {
  if (location_[value->id()] >= 0 && !IsCounter(value)) registers_.Free(location_[value->id()]);
}

bool Lowering::IsCounter(const Value* value) {
  const Node* node = value->node();
  return node->kind() == sym::kParam && value->offset() == 0 && node->block()->owner() != nullptr &&
         node->block()->owner()->kind() == sym::kLoop;
}

bool Lowering::IsScalar(const Value* value) {
  switch (value->type()->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
      return true;
    default:
      return false;
  }
}

int32_t Lowering::NewConstant(c10::IValue value) {
  code_->constants.push_back(std::move(value));
  return ~static_cast<int32_t>(code_->constants.size() - 1);
}

int32_t Lowering::OriginOf(const InlinedCall* call) {
  auto found = inlined_.find(call);
  if (found != inlined_.end()) return found->second;
  if (call == nullptr) return -1;
  const int32_t caller = OriginOf(call->caller);
  code_->inlined.push_back({caller, call->callee, call->call_site});
  const int32_t index = static_cast<int32_t>(code_->inlined.size() - 1);
  inlined_.emplace(call, index);
  return index;
}

}  // namespace hearth
