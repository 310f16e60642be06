// Makes a Kernel from the outside in, the way a lowering rule thinks: a function that is given indices emits what
// computes the element there.
//
//   KernelBuilder k;
//   const ValueId n = k.Symbol();
//   const BufferId x = k.Input(Dtype::kFloat32, {n}, {k.Integer(1)});
//   const BufferId y = k.Output(Dtype::kFloat32, {n}, {k.Integer(1)});
//   k.Parallel(n, [&](ValueId i) { k.Store(y, {i}, k.Call(Opcode::kExp, {k.Load(x, {i})})); });
//   Kernel kernel = k.Finish();
//
// What was computed already where it can be seen is not computed again, and arithmetic on constants is done here: of
// i64 and b1 all operations and those that an operand leaves without effect (x + 0, x * 1, x * 0, x / 1, x and true);
// casts whose result is specified; a select or load_if whose condition is known. Arithmetic on symbols and constants
// alone goes to the kernel's top, wherever it is asked for. Loads are computed again after a store to their buffer or a
// loop that stores to it, and inside a loop, but for inputs. Finish drops what nothing uses and numbers values and
// buffers as a Kernel has them (compaction.h), so what the builder calls them is its own.
//
// Used by one thread. Wrong dtypes, a buffer of other rank or a value that is out of scope end in std::logic_error:
// they are the caller's mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

class KernelBuilder {
 public:
  KernelBuilder();
  ~KernelBuilder();
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  // ---- Anywhere. Sizes and strides are computed with Call and Integer, of symbols and constants alone ----
  ValueId Symbol(Dtype dtype = Dtype::kInt64);
  BufferId Input(Dtype dtype, std::vector<ValueId> sizes, std::vector<ValueId> strides);
  BufferId Output(Dtype dtype, std::vector<ValueId> sizes, std::vector<ValueId> strides);
  BufferId Local(Dtype dtype, std::vector<ValueId> sizes);

  // ---- Anywhere; loads and stores in loops ----
  // Of b1, integers and, rounded, floating point.
  ValueId Constant(Dtype dtype, double value);
  ValueId Integer(int64_t value, Dtype dtype = Dtype::kInt64);
  // Any operation on operands that needs no more than these; kSelect, comparisons and kFma included.
  ValueId Call(Opcode opcode, std::span<const ValueId> operands);
  ValueId Call(Opcode opcode, std::initializer_list<ValueId> operands) { return Call(opcode, SpanOf(operands)); }
  // Itself, where it has the dtype.
  ValueId Cast(ValueId value, Dtype dtype);
  ValueId Bitcast(ValueId value, Dtype dtype);
  ValueId Load(BufferId buffer, std::span<const ValueId> indices);
  ValueId LoadIf(ValueId condition, BufferId buffer, std::span<const ValueId> indices);
  void Store(BufferId buffer, std::span<const ValueId> indices, ValueId value);
  ValueId Load(BufferId buffer, std::initializer_list<ValueId> indices) { return Load(buffer, SpanOf(indices)); }
  ValueId LoadIf(ValueId condition, BufferId buffer, std::initializer_list<ValueId> indices) {
    return LoadIf(condition, buffer, SpanOf(indices));
  }
  void Store(BufferId buffer, std::initializer_list<ValueId> indices, ValueId value) {
    Store(buffer, SpanOf(indices), value);
  }

  // ---- Loops; the function is called once, with the loop's index. Only Parallel may be at the top ----
  void Parallel(ValueId extent, const std::function<void(ValueId index)>& body);
  struct Reduced {
    Reduction reduction;
    ValueId element;
  };
  // The results, in the order of what `body` gives.
  std::vector<ValueId> Reduce(ValueId extent, const std::function<std::vector<Reduced>(ValueId index)>& body);
  // The results. `body` is given the values that are carried, and gives the next ones.
  std::vector<ValueId> Sequential(
      ValueId extent, std::span<const ValueId> initial,
      const std::function<std::vector<ValueId>(ValueId index, std::span<const ValueId> carried)>& body);

  Dtype DtypeOf(ValueId value) const;
  const Buffer& buffer(BufferId id) const;
  // Null unless it is a constant integer; valid until Finish.
  const int64_t* IntegerOf(ValueId value) const;

  // The builder is empty afterwards. Values that nothing uses are left out, symbols are not.
  Kernel Finish();

 private:
  static std::span<const ValueId> SpanOf(std::initializer_list<ValueId> values) {
    return {values.begin(), values.size()};
  }

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::fuser
