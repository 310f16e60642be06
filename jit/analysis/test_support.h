// What facts say of a value, held against the value, for tests.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "jit/analysis/value_fact_table.h"

namespace hearth {

// The sizes of a run's arguments, by what they are called in facts.
class KnownArguments {
 public:
  KnownArguments(ValueFactTable* table, const Graph& graph, const std::vector<c10::IValue>& arguments) : table_(table) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ValueFacts& facts = table->Of(*graph.inputs()[i]);
      if (arguments[i].isInt()) Add(facts.number, arguments[i].toInt());
      for (size_t d = 0; arguments[i].isTensor() && facts.sizes && d < facts.sizes->size(); ++d) {
        Add((*facts.sizes)[d], arguments[i].toTensor().size(static_cast<int64_t>(d)));
      }
    }
  }

  // What the size is in that run, if it is computed of them alone.
  KnownSize Of(KnownSize size) const {
    for (const SizeAlgebra::Meaning& meaning : meanings_) size = table_->sizes().Substitute(size, meaning);
    return size;
  }

 private:
  void Add(KnownSize size, int64_t is) {
    if (const auto meaning = table_->sizes().Solve(size, is)) meanings_.push_back(*meaning);
  }

  ValueFactTable* table_;
  std::vector<SizeAlgebra::Meaning> meanings_;
};

inline size_t ExpectIs(KnownSize size, int64_t is, const KnownArguments& arguments) {
  size = arguments.Of(size);
  if (!size) return 0;
  EXPECT_EQ(*size, is);
  return 1;
}

// How many things are known, all of which must be so.
inline size_t ExpectHolds(const ValueFacts& facts, const c10::IValue& value, const KnownArguments& arguments) {
  switch (facts.kind) {
    case ValueFacts::Kind::kUnknown:
      return 0;
    case ValueFacts::Kind::kNever:
      ADD_FAILURE() << "a run came to have it";
      return 0;
    case ValueFacts::Kind::kNone:
      EXPECT_TRUE(value.isNone());
      return 1;
    case ValueFacts::Kind::kFloat:
      EXPECT_TRUE(value.isDouble());
      return 1;
    case ValueFacts::Kind::kBool:
      EXPECT_TRUE(value.isBool());
      return 1;
    case ValueFacts::Kind::kString:
      EXPECT_TRUE(value.isString());
      return 1;
    case ValueFacts::Kind::kInt:
      return ExpectIs(facts.number, value.toInt(), arguments);
    case ValueFacts::Kind::kList:
    case ValueFacts::Kind::kTuple: {
      const auto elements = value.isTuple() ? c10::ArrayRef<c10::IValue>(value.toTupleRef().elements())
                                            : c10::ArrayRef<c10::IValue>(value.toListRef());
      EXPECT_EQ(*facts.length(), elements.size());
      size_t known = 1;
      for (size_t i = 0; i < facts.elements.size(); ++i)
        known += ExpectHolds(facts.elements[i], elements[i], arguments);
      for (size_t i = 0; facts.sizes && i < facts.sizes->size(); ++i) {
        known += ExpectIs((*facts.sizes)[i], elements[i].toInt(), arguments);
      }
      return known;
    }
    case ValueFacts::Kind::kTensor:
      break;
  }
  if (!value.isTensor() || !value.toTensor().defined()) {
    ADD_FAILURE() << "not a tensor";
    return 0;
  }
  const at::Tensor& tensor = value.toTensor();
  size_t known = 0;
  if (facts.dtype) {
    ++known;
    EXPECT_EQ(*facts.dtype, tensor.scalar_type());
  }
  if (facts.device) {
    ++known;
    EXPECT_EQ(*facts.device, tensor.device());
  }
  if (facts.requires_grad) {
    ++known;
    EXPECT_EQ(*facts.requires_grad, tensor.requires_grad());
  }
  if (facts.plain) {
    ++known;
    EXPECT_EQ(tensor.layout(), c10::kStrided);
  }
  if (facts.order.is_known()) {
    ++known;
    EXPECT_TRUE(facts.order.HoldsOf(tensor)) << tensor.sizes() << " with strides " << tensor.strides();
  }
  if (facts.part_order.is_known()) {
    ++known;
    EXPECT_TRUE(facts.part_order.HoldsOf(tensor)) << tensor.sizes() << " with strides " << tensor.strides();
  }
  if (facts.suggested_format) {
    ++known;
    EXPECT_EQ(*facts.suggested_format, tensor.suggest_memory_format());
  }
  if (facts.sizes) {
    ++known;
    EXPECT_EQ(facts.sizes->size(), static_cast<size_t>(tensor.dim()));
    for (size_t i = 0; i < facts.sizes->size() && i < static_cast<size_t>(tensor.dim()); ++i) {
      known += ExpectIs((*facts.sizes)[i], tensor.size(static_cast<int64_t>(i)), arguments);
    }
  }
  return known;
}

}  // namespace hearth
