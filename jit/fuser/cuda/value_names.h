// How the values of a kernel are written in a function of one of its loops: value 7 is the variable v7, and a constant
// is written where it is used. Where the function computes indices in 32 bits (index_widths.h), a variable of an i64
// may be an int or an unsigned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/fuser/cuda/index_widths.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// The variable, or the field of the function's arguments. Of a constant there is none.
std::string NameOfValue(ValueId value);

class ValueNames {
 public:
  // `wide`: all i64 are of 64 bits. The kernel outlives this.
  ValueNames(const Kernel& kernel, const Loop& loop_at_top, bool wide);

  Dtype DtypeOf(ValueId value) const { return dtypes_[value]; }
  IndexWidth WidthOf(ValueId value) const { return widths_[value]; }
  const std::vector<IndexWidth>& widths() const { return widths_; }
  bool IsConstant(ValueId value, int64_t integer) const;

  // Of the variable.
  std::string TypeOf(ValueId value) const;
  // An expression for the value in the variable's type.
  std::string NameOf(ValueId value) const;
  // An expression for the value in its dtype's type.
  std::string Operand(ValueId value) const;

 private:
  void FindConstants(const Body& body);

  std::vector<Dtype> dtypes_;
  std::vector<IndexWidth> widths_;
  std::vector<const Instruction*> constants_;  // by value; null of others
};

}  // namespace hearth::fuser
