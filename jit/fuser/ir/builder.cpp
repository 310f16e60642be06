#include "jit/fuser/ir/builder.h"

#include <bit>
#include <cmath>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "jit/fuser/ir/compaction.h"
#include "jit/fuser/ir/scalar_math.h"
#include "jit/fuser/ir/signature.h"

namespace hearth::fuser {
namespace {

// The constants, symbols and arithmetic on them that the whole kernel sees.
constexpr uint32_t kTopScope = 0;

[[noreturn]] void FailBuilding(const std::string& what) { throw std::logic_error("KernelBuilder: " + what); }

}  // namespace

struct KernelBuilder::Impl {
  // An instruction as a key: what two of which are equal would compute the same.
  struct Computation {
    Instruction instruction;  // without its result
    uint64_t version = 0;     // of loads: what the buffer holds

    bool operator==(const Computation&) const = default;
  };

  struct HashOfComputation {
    size_t operator()(const Computation& key) const {
      uint64_t hash = key.version;
      const auto mix = [&hash](uint64_t word) { hash = (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29); };
      mix(static_cast<uint64_t>(key.instruction.opcode) << 8 | static_cast<uint64_t>(key.instruction.dtype));
      for (const ValueId operand : key.instruction.operands) mix(operand);
      mix(key.instruction.buffer);
      mix(static_cast<uint64_t>(key.instruction.integer));
      mix(std::bit_cast<uint64_t>(key.instruction.real));
      return hash;
    }
  };

  struct BuiltValue {
    Dtype dtype = Dtype::kInt64;
    uint32_t scope = kTopScope;
    std::optional<Instruction> constant;
  };

  // What can be seen from the loop body being built, the kernel itself first.
  struct Scope {
    uint32_t number = kTopScope;
    Body* body = nullptr;
    std::unordered_map<Computation, ValueId, HashOfComputation> computed;
  };

  Kernel kernel;
  std::vector<ValueId> symbols;
  // Never moved: IntegerOf gives pointers into it.
  std::deque<BuiltValue> values;
  std::vector<Scope> scopes;
  std::vector<bool> scope_open;
  // By buffer: a number that changes when the elements do.
  std::vector<uint64_t> versions;
  uint64_t last_version = 0;

  Impl() {
    scopes.push_back({kTopScope, &kernel.prologue, {}});
    scope_open.push_back(true);
  }

  ValueId NewValue(Dtype dtype, uint32_t scope) {
    values.push_back({dtype, scope, std::nullopt});
    return static_cast<ValueId>(values.size() - 1);
  }

  void CheckVisible(ValueId value) const {
    if (value >= values.size()) FailBuilding("no value has the number " + std::to_string(value));
    if (!scope_open[values[value].scope]) FailBuilding("a value is used outside of the loop that defines it");
  }

  void CheckInteger(ValueId value, const char* what) const {
    CheckVisible(value);
    if (values[value].dtype != Dtype::kInt64) FailBuilding(std::string(what) + " is not i64");
  }

  void CheckTop(ValueId value, const char* what) const {
    CheckInteger(value, what);
    if (values[value].scope != kTopScope) FailBuilding(std::string(what) + " is computed inside a loop");
  }

  void CheckInLoop() const {
    if (scopes.size() == 1) FailBuilding("memory, reduce and sequential are for the inside of a parallel loop");
  }

  const Buffer& BufferAt(BufferId id) const {
    if (id >= kernel.buffers.size()) FailBuilding("no buffer has the number " + std::to_string(id));
    return kernel.buffers[id];
  }

  bool IsConstant(ValueId value) const { return values[value].constant.has_value(); }
  bool IsInteger(ValueId value, int64_t integer) const {
    return values[value].dtype == Dtype::kInt64 && IsConstant(value) && values[value].constant->integer == integer;
  }
  bool IsBool(ValueId value, bool truth) const {
    return values[value].dtype == Dtype::kBool && IsConstant(value) && (values[value].constant->integer != 0) == truth;
  }

  BufferId AddBuffer(Buffer buffer) {
    if (buffer.kind != BufferKind::kLocal && buffer.sizes.size() != buffer.strides.size()) {
      FailBuilding("a buffer has as many strides as sizes");
    }
    for (const ValueId size : buffer.sizes) CheckTop(size, "a size");
    for (const ValueId stride : buffer.strides) CheckTop(stride, "a stride");
    kernel.buffers.push_back(std::move(buffer));
    versions.push_back(++last_version);
    return static_cast<BufferId>(kernel.buffers.size() - 1);
  }

  ValueId ConstantOf(Dtype dtype, Bits bits) {
    Instruction constant{.opcode = Opcode::kConstant, .dtype = dtype};
    if (IsFloating(dtype)) {
      constant.real = RoundTo(dtype, DoubleOf(bits, dtype));
    } else {
      constant.integer = static_cast<int64_t>(bits);
    }
    return Emit(std::move(constant));
  }

  // Checks the instruction, and gives what it computes: a value that is there already, or that of a new instruction.
  ValueId Emit(Instruction instruction) {
    std::vector<Dtype> operands;
    for (const ValueId operand : instruction.operands) {
      CheckVisible(operand);
      operands.push_back(values[operand].dtype);
    }
    const bool memory = TouchesMemory(instruction.opcode);
    if (memory) CheckInLoop();
    // The result has no number yet, and must not count as missing.
    Instruction checked = instruction;
    checked.result = instruction.opcode == Opcode::kStore ? kNoValue : 0;
    const Buffer* const buffer = memory ? &BufferAt(instruction.buffer) : nullptr;
    if (const std::string problem = ProblemOf(checked, operands, buffer); !problem.empty()) {
      FailBuilding(std::string(InfoOf(instruction.opcode).name) + ": " + problem);
    }
    if (instruction.opcode == Opcode::kStore) {
      versions[instruction.buffer] = ++last_version;
      scopes.back().body->push_back({std::move(instruction), nullptr});
      return kNoValue;
    }
    if (const std::optional<ValueId> folded = Fold(instruction, operands)) return *folded;
    return Find(std::move(instruction));
  }

  ValueId Find(Instruction instruction) {
    Computation key{std::move(instruction), 0};
    if (TouchesMemory(key.instruction.opcode)) key.version = versions[key.instruction.buffer];
    for (const Scope& scope : scopes) {
      const auto found = scope.computed.find(key);
      if (found != scope.computed.end()) return found->second;
    }
    bool top = !TouchesMemory(key.instruction.opcode);
    for (const ValueId operand : key.instruction.operands) top = top && values[operand].scope == kTopScope;
    Scope& scope = top ? scopes.front() : scopes.back();
    const ValueId result = NewValue(key.instruction.dtype, scope.number);
    Instruction numbered = key.instruction;
    numbered.result = result;
    if (numbered.opcode == Opcode::kConstant) values[result].constant = numbered;
    scope.body->push_back({std::move(numbered), nullptr});
    scope.computed.emplace(std::move(key), result);
    return result;
  }

  // What needs no instruction of this kind.
  std::optional<ValueId> Fold(const Instruction& instruction, std::span<const Dtype> dtypes) {
    const std::vector<ValueId>& operands = instruction.operands;
    switch (instruction.opcode) {
      case Opcode::kConstant:
      case Opcode::kLoad:
      case Opcode::kBitcast:
        return std::nullopt;
      case Opcode::kLoadIf:
        return FoldLoadIf(instruction);
      case Opcode::kCast:
        return FoldCast(operands[0], dtypes[0], instruction.dtype);
      case Opcode::kSelect:
        if (IsBool(operands[0], true) || operands[1] == operands[2]) return operands[1];
        if (IsBool(operands[0], false)) return operands[2];
        return std::nullopt;
      default:
        break;
    }
    if (dtypes[0] != Dtype::kInt64 && dtypes[0] != Dtype::kBool) return std::nullopt;
    Bits bits[3] = {};
    bool constant = true;
    for (size_t i = 0; i < operands.size(); ++i) {
      constant = constant && IsConstant(operands[i]);
      if (constant) bits[i] = BitsOfConstant(*values[operands[i]].constant);
    }
    if (constant)
      return ConstantOf(instruction.dtype, Compute(instruction.opcode, dtypes[0], bits[0], bits[1], bits[2]));
    if (operands.size() != 2) return std::nullopt;
    return FoldNeutral(instruction.opcode, operands[0], operands[1]);
  }

  std::optional<ValueId> FoldLoadIf(const Instruction& load) {
    if (IsBool(load.operands[0], false)) return ConstantOf(load.dtype, 0);
    if (!IsBool(load.operands[0], true)) return std::nullopt;
    Instruction plain = load;
    plain.opcode = Opcode::kLoad;
    plain.operands.erase(plain.operands.begin());
    return Emit(std::move(plain));
  }

  std::optional<ValueId> FoldCast(ValueId value, Dtype from, Dtype to) {
    if (from == to) return value;
    if (!IsConstant(value)) return std::nullopt;
    const Bits bits = BitsOfConstant(*values[value].constant);
    if (!CastFits(bits, from, to)) return std::nullopt;
    return ConstantOf(to, Convert(bits, from, to));
  }

  // Of i64 and b1: an operand that leaves the other one as it is, or that decides the result alone.
  std::optional<ValueId> FoldNeutral(Opcode opcode, ValueId a, ValueId b) {
    switch (opcode) {
      case Opcode::kAdd:
        if (IsInteger(a, 0)) return b;
        [[fallthrough]];
      case Opcode::kSubtract:
        if (IsInteger(b, 0)) return a;
        return std::nullopt;
      case Opcode::kMultiply:
        if (IsInteger(a, 0) || IsInteger(b, 1)) return a;
        if (IsInteger(b, 0) || IsInteger(a, 1)) return b;
        return std::nullopt;
      case Opcode::kDivide:
      case Opcode::kFloorDivide:
        if (IsInteger(b, 1)) return a;
        return std::nullopt;
      case Opcode::kRemainder:
      case Opcode::kFmod:
        if (IsInteger(b, 1)) return ConstantOf(Dtype::kInt64, 0);
        return std::nullopt;
      case Opcode::kAnd:
        if (IsBool(a, false) || IsBool(b, true)) return a;
        if (IsBool(b, false) || IsBool(a, true)) return b;
        return std::nullopt;
      case Opcode::kOr:
        if (IsBool(a, true) || IsBool(b, false)) return a;
        if (IsBool(b, true) || IsBool(a, false)) return b;
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // Adds the loop where the builder stands, with what `body` makes inside it. `body` completes the loop.
  void AddLoop(std::unique_ptr<Loop> added, const std::function<void(Loop*)>& body) {
    Loop* const loop = added.get();
    const auto number = static_cast<uint32_t>(scope_open.size());
    scope_open.push_back(true);
    loop->index = NewValue(Dtype::kInt64, number);
    for (Carried& carried : loop->carried) carried.value = NewValue(values[carried.initial].dtype, number);

    // A store later in the body comes before a load in the next round: nothing loaded outside is known inside.
    const std::vector<uint64_t> before = versions;
    RefreshVersions();
    const std::vector<uint64_t> inside = versions;
    scopes.back().body->push_back({{}, std::move(added)});
    scopes.push_back({number, &loop->body, {}});
    body(loop);
    scopes.pop_back();
    scope_open[number] = false;
    for (size_t i = 0; i < before.size(); ++i) {
      if (versions[i] == inside[i]) versions[i] = before[i];
    }
  }

  void RefreshVersions() {
    for (size_t i = 0; i < versions.size(); ++i) {
      if (kernel.buffers[i].kind != BufferKind::kInput) versions[i] = ++last_version;
    }
  }

  // Where results of the loop just added are defined.
  uint32_t HereScope() const { return scopes.back().number; }
};

KernelBuilder::KernelBuilder() : impl_(std::make_unique<Impl>()) {}
KernelBuilder::~KernelBuilder() = default;

ValueId KernelBuilder::Symbol(Dtype dtype) {
  if (dtype != Dtype::kInt64 && dtype != Dtype::kFloat64) FailBuilding("a symbol is i64 or f64");
  impl_->kernel.symbols.push_back(dtype);
  impl_->symbols.push_back(impl_->NewValue(dtype, kTopScope));
  return impl_->symbols.back();
}

BufferId KernelBuilder::Input(Dtype dtype, std::vector<ValueId> sizes, std::vector<ValueId> strides) {
  return impl_->AddBuffer({BufferKind::kInput, dtype, std::move(sizes), std::move(strides)});
}

BufferId KernelBuilder::Output(Dtype dtype, std::vector<ValueId> sizes, std::vector<ValueId> strides) {
  return impl_->AddBuffer({BufferKind::kOutput, dtype, std::move(sizes), std::move(strides)});
}

BufferId KernelBuilder::Local(Dtype dtype, std::vector<ValueId> sizes) {
  return impl_->AddBuffer({BufferKind::kLocal, dtype, std::move(sizes), {}});
}

ValueId KernelBuilder::Constant(Dtype dtype, double value) {
  if (IsFloating(dtype))
    return impl_->Emit({.opcode = Opcode::kConstant, .dtype = dtype, .real = RoundTo(dtype, value)});
  const Bits bits = BitsOf(value, Dtype::kFloat64);
  if (!CastFits(bits, Dtype::kFloat64, Dtype::kInt64) || std::trunc(value) != value) {
    FailBuilding(std::to_string(value) + " is no integer");
  }
  return Integer(static_cast<int64_t>(value), dtype);
}

ValueId KernelBuilder::Integer(int64_t value, Dtype dtype) {
  if (IsFloating(dtype)) return impl_->ConstantOf(dtype, Convert(static_cast<Bits>(value), Dtype::kInt64, dtype));
  return impl_->Emit({.opcode = Opcode::kConstant, .dtype = dtype, .integer = value});
}

ValueId KernelBuilder::Call(Opcode opcode, std::span<const ValueId> operands) {
  if (TouchesMemory(opcode) || opcode == Opcode::kConstant || opcode == Opcode::kCast || opcode == Opcode::kBitcast) {
    FailBuilding(std::string(InfoOf(opcode).name) + " has a function of its own");
  }
  std::vector<Dtype> dtypes;
  for (const ValueId operand : operands) dtypes.push_back(DtypeOf(operand));
  if (dtypes.size() != InfoOf(opcode).num_operands) {
    FailBuilding(std::string(InfoOf(opcode).name) + " takes another number of operands");
  }
  return impl_->Emit(
      {.opcode = opcode, .dtype = ResultDtypeOf(opcode, dtypes), .operands = {operands.begin(), operands.end()}});
}

ValueId KernelBuilder::Cast(ValueId value, Dtype dtype) {
  return impl_->Emit({.opcode = Opcode::kCast, .dtype = dtype, .operands = {value}});
}

ValueId KernelBuilder::Bitcast(ValueId value, Dtype dtype) {
  if (DtypeOf(value) == dtype) return value;
  return impl_->Emit({.opcode = Opcode::kBitcast, .dtype = dtype, .operands = {value}});
}

ValueId KernelBuilder::Load(BufferId buffer, std::span<const ValueId> indices) {
  return impl_->Emit({.opcode = Opcode::kLoad,
                      .dtype = impl_->BufferAt(buffer).dtype,
                      .operands = {indices.begin(), indices.end()},
                      .buffer = buffer});
}

ValueId KernelBuilder::LoadIf(ValueId condition, BufferId buffer, std::span<const ValueId> indices) {
  std::vector<ValueId> operands = {condition};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return impl_->Emit({.opcode = Opcode::kLoadIf,
                      .dtype = impl_->BufferAt(buffer).dtype,
                      .operands = std::move(operands),
                      .buffer = buffer});
}

void KernelBuilder::Store(BufferId buffer, std::span<const ValueId> indices, ValueId value) {
  std::vector<ValueId> operands = {value};
  operands.insert(operands.end(), indices.begin(), indices.end());
  impl_->Emit({.opcode = Opcode::kStore, .dtype = DtypeOf(value), .operands = std::move(operands), .buffer = buffer});
}

void KernelBuilder::Parallel(ValueId extent, const std::function<void(ValueId)>& body) {
  // Extents at the top are the prologue's: nothing else can be seen there.
  impl_->CheckInteger(extent, "an extent");
  auto loop = std::make_unique<Loop>();
  loop->extent = extent;
  // The loop at the top has the kernel's body around it, not the prologue.
  if (impl_->scopes.size() == 1) impl_->scopes.push_back({kTopScope, &impl_->kernel.body, {}});
  const bool outermost = impl_->scopes.size() == 2 && impl_->scopes.back().number == kTopScope;
  impl_->AddLoop(std::move(loop), [&body](Loop* added) { body(added->index); });
  if (outermost) impl_->scopes.pop_back();
}

std::vector<ValueId> KernelBuilder::Reduce(ValueId extent, const std::function<std::vector<Reduced>(ValueId)>& body) {
  impl_->CheckInLoop();
  impl_->CheckInteger(extent, "an extent");
  auto loop = std::make_unique<Loop>();
  loop->kind = LoopKind::kReduce;
  loop->extent = extent;
  Loop* reduce = loop.get();
  impl_->AddLoop(std::move(loop), [&](Loop* added) {
    const std::vector<Reduced> reduced = body(added->index);
    if (reduced.empty()) FailBuilding("a reduction of nothing");
    for (const Reduced& one : reduced) {
      impl_->CheckVisible(one.element);
      if (!Takes(OperandsOf(one.reduction), DtypeOf(one.element))) {
        FailBuilding(std::string(NameOf(one.reduction)) + " does not take " +
                     std::string(NameOf(DtypeOf(one.element))));
      }
      added->accumulators.push_back({one.reduction, one.element, kNoValue});
    }
  });
  std::vector<ValueId> results;
  for (Accumulator& accumulator : reduce->accumulators) {
    const Dtype dtype = ResultOf(accumulator.reduction, DtypeOf(accumulator.element));
    accumulator.result = impl_->NewValue(dtype, impl_->HereScope());
    results.push_back(accumulator.result);
  }
  return results;
}

std::vector<ValueId> KernelBuilder::Sequential(
    ValueId extent, std::span<const ValueId> initial,
    const std::function<std::vector<ValueId>(ValueId, std::span<const ValueId>)>& body) {
  impl_->CheckInLoop();
  impl_->CheckInteger(extent, "an extent");
  auto loop = std::make_unique<Loop>();
  loop->kind = LoopKind::kSequential;
  loop->extent = extent;
  for (const ValueId value : initial) {
    impl_->CheckVisible(value);
    loop->carried.push_back({.initial = value});
  }
  Loop* sequential = loop.get();
  impl_->AddLoop(std::move(loop), [&](Loop* added) {
    std::vector<ValueId> values;
    for (const Carried& carried : added->carried) values.push_back(carried.value);
    const std::vector<ValueId> next = body(added->index, values);
    if (next.size() != values.size()) FailBuilding("a round hands on as many values as it begins with");
    for (size_t i = 0; i < next.size(); ++i) {
      impl_->CheckVisible(next[i]);
      if (DtypeOf(next[i]) != DtypeOf(values[i])) FailBuilding("a carried value changes its dtype");
      added->carried[i].next = next[i];
    }
  });
  std::vector<ValueId> results;
  for (Carried& carried : sequential->carried) {
    carried.result = impl_->NewValue(DtypeOf(carried.initial), impl_->HereScope());
    results.push_back(carried.result);
  }
  return results;
}

Dtype KernelBuilder::DtypeOf(ValueId value) const {
  if (value >= impl_->values.size()) FailBuilding("no value has the number " + std::to_string(value));
  return impl_->values[value].dtype;
}

const Buffer& KernelBuilder::buffer(BufferId id) const { return impl_->BufferAt(id); }

const int64_t* KernelBuilder::IntegerOf(ValueId value) const {
  if (!IsInteger(DtypeOf(value)) || !impl_->IsConstant(value)) return nullptr;
  return &impl_->values[value].constant->integer;
}

Kernel KernelBuilder::Finish() {
  if (impl_->scopes.size() != 1) FailBuilding("a loop is not finished");
  impl_->kernel.num_values = static_cast<ValueId>(impl_->values.size());
  Kernel kernel = Compact(std::move(impl_->kernel), impl_->symbols);
  impl_ = std::make_unique<Impl>();
  return kernel;
}

}  // namespace hearth::fuser
