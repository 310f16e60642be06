#include "jit/fuser/ir/kernel.h"

#include <algorithm>
#include <bit>

namespace hearth::fuser {
namespace {

bool EqualBodies(const Body& a, const Body& b);

bool EqualLoops(const Loop& a, const Loop& b) {
  return a.kind == b.kind && a.index == b.index && a.extent == b.extent && a.accumulators == b.accumulators &&
         a.carried == b.carried && EqualBodies(a.body, b.body);
}

bool EqualBodies(const Body& a, const Body& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Statement& x, const Statement& y) {
    if (x.loop == nullptr || y.loop == nullptr) return x.loop == y.loop && x.instruction == y.instruction;
    return EqualLoops(*x.loop, *y.loop);
  });
}

void CollectDtypes(const Body& body, std::vector<Dtype>* dtypes) {
  for (const Statement& statement : body) {
    if (statement.loop == nullptr) {
      const Instruction& instruction = statement.instruction;
      if (instruction.result != kNoValue) (*dtypes)[instruction.result] = instruction.dtype;
      continue;
    }
    const Loop& loop = *statement.loop;
    (*dtypes)[loop.index] = Dtype::kInt64;
    for (const Carried& carried : loop.carried) {
      (*dtypes)[carried.value] = (*dtypes)[carried.result] = (*dtypes)[carried.initial];
    }
    CollectDtypes(loop.body, dtypes);
    for (const Accumulator& accumulator : loop.accumulators) {
      (*dtypes)[accumulator.result] = ResultOf(accumulator.reduction, (*dtypes)[accumulator.element]);
    }
  }
}

size_t Count(const Kernel& kernel, BufferKind kind) {
  return std::count_if(kernel.buffers.begin(), kernel.buffers.end(),
                       [kind](const Buffer& buffer) { return buffer.kind == kind; });
}

}  // namespace

bool Instruction::operator==(const Instruction& other) const {
  return opcode == other.opcode && dtype == other.dtype && result == other.result && operands == other.operands &&
         buffer == other.buffer && integer == other.integer &&
         std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(other.real);
}

size_t Kernel::num_inputs() const { return Count(*this, BufferKind::kInput); }
size_t Kernel::num_outputs() const { return Count(*this, BufferKind::kOutput); }

bool Equal(const Kernel& a, const Kernel& b) {
  return a.symbols == b.symbols && a.buffers == b.buffers && a.num_values == b.num_values &&
         EqualBodies(a.prologue, b.prologue) && EqualBodies(a.body, b.body);
}

std::vector<Dtype> DtypesOf(const Kernel& kernel) {
  std::vector<Dtype> dtypes(kernel.num_values, Dtype::kInt64);
  std::copy(kernel.symbols.begin(), kernel.symbols.end(), dtypes.begin());
  CollectDtypes(kernel.prologue, &dtypes);
  CollectDtypes(kernel.body, &dtypes);
  return dtypes;
}

}  // namespace hearth::fuser
