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
// What was computed already where it can be seen is not computed again, and arithmetic on constants is done here
// (i64 and b1 for all operations; x + 0, x * 1 and x * 0 of i64). Loads are computed again after a store or a loop that
// stores. Results are numbered as the Kernel wants it by Finish.
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

  // ---- At the top, before the first loop; sizes and strides are computed with Call and Integer ----
  ValueId Symbol(Dtype dtype = Dtype::kInt64);
  BufferId Input(Dtype dtype, std::vector<ValueId> sizes, std::vector<ValueId> strides);
  BufferId Output(Dtype dtype, std::vector<ValueId> sizes, std::vector<ValueId> strides);
  BufferId Local(Dtype dtype, std::vector<ValueId> sizes);

  // ---- Anywhere ----
  // Of b1, integers and, rounded, floating point.
  ValueId Constant(Dtype dtype, double value);
  ValueId Integer(int64_t value, Dtype dtype = Dtype::kInt64);
  // Any operation on operands that needs no more than these; kSelect, comparisons and kFma included.
  ValueId Call(Opcode opcode, std::initializer_list<ValueId> operands);
  // Itself, where it has the dtype.
  ValueId Cast(ValueId value, Dtype dtype);
  ValueId Bitcast(ValueId value, Dtype dtype);
  ValueId Load(BufferId buffer, std::span<const ValueId> indices);
  ValueId LoadIf(ValueId condition, BufferId buffer, std::span<const ValueId> indices);
  void Store(BufferId buffer, std::span<const ValueId> indices, ValueId value);

  // ---- Loops; the function is called once, with the loop's index ----
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
  // Null unless it is a constant integer.
  const int64_t* IntegerOf(ValueId value) const;

  // The builder is empty afterwards. Values that nothing uses are left out, symbols are not.
  Kernel Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::fuser
