#include "jit/fuser/ir/verifier.h"

#include <string>

#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/signature.h"

namespace hearth::fuser {
namespace {

class KernelVerifier {
 public:
  explicit KernelVerifier(const Kernel& kernel) : kernel_(kernel) {}

  void Run() {
    for (const Dtype symbol : kernel_.symbols) {
      if (symbol != Dtype::kInt64 && symbol != Dtype::kFloat64) Fail("a symbol is neither i64 nor f64");
      Define(static_cast<ValueId>(values_.size()), symbol);
    }
    for (const Statement& statement : kernel_.prologue) {
      statement_ = &statement;
      if (statement.loop != nullptr) Fail("a loop before the buffers");
      if (TouchesMemory(statement.instruction.opcode)) Fail("memory is touched outside of a loop");
      CheckInstruction(statement.instruction);
    }
    statement_ = nullptr;
    CheckBuffers();
    for (const Statement& statement : kernel_.body) {
      statement_ = &statement;
      if (statement.loop == nullptr || statement.loop->kind != LoopKind::kParallel) {
        Fail("only parallel loops come after the buffers");
      }
      CheckLoop(statement);
    }
    statement_ = nullptr;
    if (kernel_.num_values != values_.size()) {
      Fail("num_values is " + std::to_string(kernel_.num_values) + ", and " + std::to_string(values_.size()) +
           " are defined");
    }
  }

 private:
  struct DefinedValue {
    Dtype dtype;
    bool visible;
  };

  [[noreturn]] void Fail(const std::string& problem) const {
    throw VerifyError(statement_ == nullptr ? problem : problem + ", in\n  " + Print(*statement_));
  }

  void Define(ValueId value, Dtype dtype) {
    if (value != values_.size()) {
      const std::string number = value == kNoValue ? "no number" : "%" + std::to_string(value);
      Fail("the next value is %" + std::to_string(values_.size()) + ", and " + number + " is defined");
    }
    values_.push_back({dtype, true});
  }

  Dtype Use(ValueId value) const {
    if (value >= values_.size()) {
      Fail(
          (value == kNoValue ? std::string("an operand is missing") : "%" + std::to_string(value) + " is not defined") +
          " here");
    }
    if (!values_[value].visible) Fail("%" + std::to_string(value) + " is defined in a loop that has ended");
    return values_[value].dtype;
  }

  void UseInteger(ValueId value, const char* what) const {
    const Dtype dtype = Use(value);
    if (dtype != Dtype::kInt64) Fail(std::string(what) + " is " + std::string(NameOf(dtype)) + ", not i64");
  }

  void CheckBuffers() const {
    BufferKind last = BufferKind::kInput;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& buffer = kernel_.buffers[i];
      const std::string name = "@" + std::to_string(i);
      if (buffer.kind < last) Fail(name + ": inputs come first, then outputs, then local buffers");
      last = buffer.kind;
      const size_t strides = buffer.kind == BufferKind::kLocal ? 0 : buffer.sizes.size();
      if (buffer.strides.size() != strides) {
        Fail(name + " has " + std::to_string(buffer.strides.size()) + " strides, not " + std::to_string(strides));
      }
      for (const ValueId size : buffer.sizes) UseInteger(size, (name + ": a size").c_str());
      for (const ValueId stride : buffer.strides) UseInteger(stride, (name + ": a stride").c_str());
    }
  }

  void CheckInstruction(const Instruction& instruction) {
    std::vector<Dtype> operands;
    operands.reserve(instruction.operands.size());
    for (const ValueId operand : instruction.operands) operands.push_back(Use(operand));
    const Buffer* buffer = nullptr;
    if (TouchesMemory(instruction.opcode)) {
      if (instruction.buffer >= kernel_.buffers.size()) Fail("there is no such buffer");
      buffer = &kernel_.buffers[instruction.buffer];
    }
    if (const std::string problem = ProblemOf(instruction, operands, buffer); !problem.empty()) Fail(problem);
    if (instruction.opcode != Opcode::kStore) Define(instruction.result, instruction.dtype);
  }

  void CheckLoop(const Statement& statement) {
    const Loop& loop = *statement.loop;
    if (++depth_ > kMaxLoopDepth) Fail("too many loops inside one another");
    if (loop.accumulators.empty() == (loop.kind == LoopKind::kReduce)) {
      Fail(loop.kind == LoopKind::kReduce ? "a reduce without accumulators"
                                          : "a loop with accumulators that is no reduce");
    }
    if (loop.kind != LoopKind::kSequential && !loop.carried.empty())
      Fail("a loop that is not sequential carries values");
    UseInteger(loop.extent, "the extent");
    for (const Carried& carried : loop.carried) Use(carried.initial);

    const auto begin = static_cast<ValueId>(values_.size());
    Define(loop.index, Dtype::kInt64);
    for (const Carried& carried : loop.carried) Define(carried.value, Use(carried.initial));
    for (const Statement& inner : loop.body) {
      statement_ = &inner;
      if (inner.loop != nullptr) {
        CheckLoop(inner);
      } else {
        CheckInstruction(inner.instruction);
      }
    }
    statement_ = &statement;
    CheckResults(loop, begin);
    --depth_;
  }

  void CheckResults(const Loop& loop, ValueId begin) {
    std::vector<Dtype> results;
    for (const Carried& carried : loop.carried) {
      results.push_back(Use(carried.value));
      if (Use(carried.next) != results.back()) Fail("a carried value changes its dtype");
    }
    for (const Accumulator& accumulator : loop.accumulators) {
      const Dtype element = Use(accumulator.element);
      if (!Takes(OperandsOf(accumulator.reduction), element)) {
        Fail(std::string(NameOf(accumulator.reduction)) + " does not take " + std::string(NameOf(element)));
      }
      results.push_back(ResultOf(accumulator.reduction, element));
    }
    // As many times as loops are around a value, which kMaxLoopDepth bounds.
    for (ValueId value = begin; value < values_.size(); ++value) values_[value].visible = false;
    size_t next = 0;
    for (const Carried& carried : loop.carried) Define(carried.result, results[next++]);
    for (const Accumulator& accumulator : loop.accumulators) Define(accumulator.result, results[next++]);
  }

  const Kernel& kernel_;
  // What errors show; null for what is no statement.
  const Statement* statement_ = nullptr;
  std::vector<DefinedValue> values_;
  int depth_ = 0;
};

}  // namespace

void Verify(const Kernel& kernel) { KernelVerifier(kernel).Run(); }

}  // namespace hearth::fuser
