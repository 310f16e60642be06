#include "jit/fuser/ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/softmax_testing.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Finished(KernelBuilder& k) {
  const Kernel kernel = k.Finish();
  Verify(kernel);
  return Print(kernel);
}

// A vector that goes in and one that comes out, as most tests want.
struct Vectors {
  KernelBuilder k;
  ValueId n = k.Symbol();
  BufferId x = k.Input(Dtype::kFloat32, {n}, {k.Integer(1)});
  BufferId y = k.Output(Dtype::kFloat32, {n}, {k.Integer(1)});

  ValueId LoadOf(BufferId buffer, ValueId i) { return k.Load(buffer, {i}); }
  void StoreTo(BufferId buffer, ValueId i, ValueId value) { k.Store(buffer, {i}, value); }
};

Kernel Softmax() {
  KernelBuilder k;
  const ValueId rows = k.Symbol();
  const ValueId columns = k.Symbol();
  const ValueId one = k.Integer(1);
  const BufferId x = k.Input(Dtype::kFloat32, {rows, columns}, {columns, one});
  const BufferId y = k.Output(Dtype::kFloat32, {rows, columns}, {columns, one});
  const BufferId row = k.Local(Dtype::kFloat32, {columns});
  k.Parallel(rows, [&](ValueId i) {
    const ValueId largest = k.Reduce(columns, [&](ValueId j) -> std::vector<KernelBuilder::Reduced> {
      return {{Reduction::kMaximum, k.Load(x, {i, j})}};
    })[0];
    const ValueId sum = k.Reduce(columns, [&](ValueId j) -> std::vector<KernelBuilder::Reduced> {
      const ValueId shifted = k.Call(Opcode::kSubtract, {k.Load(x, {i, j}), largest});
      const ValueId power = k.Call(Opcode::kExp, {shifted});
      k.Store(row, {j}, power);
      return {{Reduction::kSum, power}};
    })[0];
    k.Parallel(columns, [&](ValueId j) { k.Store(y, {i, j}, k.Call(Opcode::kDivide, {k.Load(row, {j}), sum})); });
  });
  return k.Finish();
}

TEST(BuilderTest, ASoftmaxIsTheKernelOfTheHeader) {
  const Kernel kernel = Softmax();
  Verify(kernel);
  EXPECT_EQ(Print(kernel), kSoftmax);
}

TEST(BuilderTest, TheSameKernelBuiltTwiceIsEqual) {
  EXPECT_TRUE(Equal(Softmax(), Softmax()));
  KernelBuilder k;
  EXPECT_FALSE(Equal(Softmax(), k.Finish()));
}

TEST(BuilderTest, EqualComputationsInScopeAreOneInstruction) {
  Vectors v;
  v.k.Parallel(v.n, [&](ValueId i) {
    const ValueId a = v.k.Call(Opcode::kExp, {v.LoadOf(v.x, i)});
    EXPECT_EQ(v.k.Call(Opcode::kExp, {v.LoadOf(v.x, i)}), a);
    EXPECT_NE(v.k.Call(Opcode::kExp2, {v.LoadOf(v.x, i)}), a);
    ValueId inner = kNoValue;
    v.k.Parallel(v.n, [&](ValueId) { EXPECT_EQ(v.k.Call(Opcode::kExp, {v.LoadOf(v.x, i)}), a); });
    v.k.Parallel(v.n, [&](ValueId) { inner = v.k.Call(Opcode::kNegate, {a}); });
    // What another loop computed is out of scope.
    EXPECT_NE(v.k.Call(Opcode::kNegate, {a}), inner);
  });
}

TEST(BuilderTest, ALoadIsRepeatedAfterAStoreToItsBuffer) {
  Vectors v;
  v.k.Parallel(v.n, [&](ValueId i) {
    const ValueId from_x = v.LoadOf(v.x, i);
    const ValueId from_y = v.LoadOf(v.y, i);
    EXPECT_EQ(v.LoadOf(v.y, i), from_y);
    v.StoreTo(v.y, i, from_x);
    EXPECT_NE(v.LoadOf(v.y, i), from_y);
    EXPECT_EQ(v.LoadOf(v.x, i), from_x);
  });
}

TEST(BuilderTest, ALoadIsRepeatedInAndAfterALoopThatStores) {
  Vectors v;
  v.k.Parallel(v.n, [&](ValueId i) {
    const ValueId before = v.LoadOf(v.y, i);
    v.k.Sequential(v.n, {}, [&](ValueId, std::span<const ValueId>) -> std::vector<ValueId> { return {}; });
    EXPECT_EQ(v.LoadOf(v.y, i), before) << "after a loop that stores nothing";
    v.k.Sequential(v.n, {}, [&](ValueId, std::span<const ValueId>) -> std::vector<ValueId> {
      const ValueId inside = v.LoadOf(v.y, i);
      EXPECT_NE(inside, before) << "a round before may have stored";
      v.StoreTo(v.y, i, v.k.Call(Opcode::kNegate, {inside}));
      return {};
    });
    EXPECT_NE(v.LoadOf(v.y, i), before);
  });
}

TEST(BuilderTest, ArithmeticOnConstantsIsDoneWhereItIsEmitted) {
  KernelBuilder k;
  const auto i64 = [&k](int64_t value) { return k.Integer(value); };
  EXPECT_EQ(k.Call(Opcode::kAdd, {i64(2), i64(3)}), i64(5));
  EXPECT_EQ(k.Call(Opcode::kFloorDivide, {i64(-7), i64(2)}), i64(-4));
  EXPECT_EQ(k.Call(Opcode::kDivide, {i64(7), i64(0)}), i64(0));
  EXPECT_EQ(k.Call(Opcode::kMultiply, {i64(INT64_MAX), i64(2)}), i64(-2));
  EXPECT_EQ(k.Call(Opcode::kLess, {i64(1), i64(2)}), k.Integer(1, Dtype::kBool));
  EXPECT_EQ(k.Call(Opcode::kNot, {k.Integer(1, Dtype::kBool)}), k.Constant(Dtype::kBool, 0));
  EXPECT_EQ(k.Cast(i64(3), Dtype::kFloat32), k.Constant(Dtype::kFloat32, 3));
  EXPECT_EQ(k.Cast(k.Constant(Dtype::kFloat32, 300), Dtype::kInt64), i64(300));
  EXPECT_NE(k.Cast(k.Constant(Dtype::kFloat32, 300), Dtype::kInt8), k.Integer(127, Dtype::kInt8)) << "unspecified";
  EXPECT_EQ(*k.IntegerOf(k.Call(Opcode::kMaximum, {i64(-1), i64(4)})), 4);
  EXPECT_EQ(k.IntegerOf(k.Constant(Dtype::kFloat32, 1)), nullptr);
}

TEST(BuilderTest, NeutralOperandsAreLeftOut) {
  KernelBuilder k;
  const ValueId n = k.Symbol();
  const ValueId zero = k.Integer(0);
  const ValueId one = k.Integer(1);
  EXPECT_EQ(k.Call(Opcode::kAdd, {n, zero}), n);
  EXPECT_EQ(k.Call(Opcode::kAdd, {zero, n}), n);
  EXPECT_EQ(k.Call(Opcode::kSubtract, {n, zero}), n);
  EXPECT_NE(k.Call(Opcode::kSubtract, {zero, n}), n);
  EXPECT_EQ(k.Call(Opcode::kMultiply, {n, one}), n);
  EXPECT_EQ(k.Call(Opcode::kMultiply, {one, n}), n);
  EXPECT_EQ(k.Call(Opcode::kMultiply, {n, zero}), zero);
  EXPECT_EQ(k.Call(Opcode::kFloorDivide, {n, one}), n);
  EXPECT_EQ(k.Call(Opcode::kRemainder, {n, one}), zero);
  const ValueId yes = k.Integer(1, Dtype::kBool);
  const ValueId no = k.Integer(0, Dtype::kBool);
  const ValueId some = k.Call(Opcode::kLess, {zero, n});
  EXPECT_EQ(k.Call(Opcode::kAnd, {some, yes}), some);
  EXPECT_EQ(k.Call(Opcode::kAnd, {no, some}), no);
  EXPECT_EQ(k.Call(Opcode::kOr, {some, yes}), yes);
  EXPECT_EQ(k.Call(Opcode::kOr, {no, some}), some);
  EXPECT_EQ(k.Call(Opcode::kSelect, {yes, n, zero}), n);
  EXPECT_EQ(k.Call(Opcode::kSelect, {no, n, zero}), zero);
  EXPECT_EQ(k.Call(Opcode::kSelect, {some, n, n}), n);
  EXPECT_EQ(k.Cast(n, Dtype::kInt64), n);
}

TEST(BuilderTest, AFloatingPointZeroIsNotNeutral) {
  KernelBuilder k;
  const ValueId x = k.Symbol(Dtype::kFloat64);
  EXPECT_NE(k.Call(Opcode::kAdd, {x, k.Constant(Dtype::kFloat64, 0)}), x) << "-0 + 0 is 0";
  EXPECT_NE(k.Constant(Dtype::kFloat64, 0), k.Constant(Dtype::kFloat64, -0.0));
}

TEST(BuilderTest, AConditionThatIsKnownMakesALoadOrAZero) {
  Vectors v;
  v.k.Parallel(v.n, [&](ValueId i) {
    const ValueId load = v.LoadOf(v.x, i);
    EXPECT_EQ(v.k.LoadIf(v.k.Integer(1, Dtype::kBool), v.x, {i}), load);
    EXPECT_EQ(v.k.LoadIf(v.k.Integer(0, Dtype::kBool), v.x, {i}), v.k.Constant(Dtype::kFloat32, 0));
  });
}

TEST(BuilderTest, ArithmeticOnSymbolsGoesToTheTop) {
  Vectors v;
  v.k.Parallel(v.n, [&](ValueId i) {
    const ValueId last = v.k.Call(Opcode::kSubtract, {v.n, v.k.Integer(1)});
    v.StoreTo(v.y, i, v.LoadOf(v.x, v.k.Call(Opcode::kSubtract, {last, i})));
  });
  EXPECT_EQ(Finished(v.k), R"(kernel(%0) {
  %1 = i64 constant 1
  %2 = i64 subtract %0, %1
  input @0 f32 [%0] strides [%1]
  output @1 f32 [%0] strides [%1]
  parallel %3 < %0 {
    %4 = i64 subtract %2, %3
    %5 = f32 load @0 [%4]
    store @1 [%3], %5
  }
}
)");
}

TEST(BuilderTest, WhatNothingUsesIsLeftOut) {
  Vectors v;
  const ValueId unused = v.k.Symbol(Dtype::kFloat64);
  v.k.Call(Opcode::kExp, {unused});
  v.k.Local(Dtype::kFloat32, {v.k.Integer(7)});
  v.k.Parallel(v.n, [&](ValueId i) {
    const ValueId x = v.LoadOf(v.x, i);
    v.k.Call(Opcode::kExp, {x});
    v.k.Parallel(v.n, [&](ValueId j) { v.LoadOf(v.x, j); });
    const std::vector<ValueId> carried =
        v.k.Sequential(v.n, std::array{x, x}, [&](ValueId, std::span<const ValueId> now) -> std::vector<ValueId> {
          return {v.k.Call(Opcode::kNegate, {now[0]}), v.k.Call(Opcode::kSquareRoot, {now[1]})};
        });
    const std::vector<ValueId> reduced = v.k.Reduce(v.n, [&](ValueId j) -> std::vector<KernelBuilder::Reduced> {
      const ValueId element = v.LoadOf(v.x, j);
      return {{Reduction::kSum, element}, {Reduction::kArgMaximum, element}};
    });
    v.StoreTo(v.y, i, v.k.Call(Opcode::kAdd, {carried[1], reduced[0]}));
  });
  EXPECT_EQ(Finished(v.k), R"(kernel(%0, %1 f64) {
  %2 = i64 constant 1
  input @0 f32 [%0] strides [%2]
  output @1 f32 [%0] strides [%2]
  parallel %3 < %0 {
    %4 = f32 load @0 [%3]
    %8 = sequential %5 < %0 (%6 = %4) {
      %7 = f32 square_root %6
      yield %7
    }
    %11 = reduce %9 < %0 {
      %10 = f32 load @0 [%9]
      yield sum %10
    }
    %12 = f32 add %8, %11
    store @1 [%3], %12
  }
}
)");
}

TEST(BuilderTest, AReductionThatOnlyStoresIsAParallelLoop) {
  Vectors v;
  v.k.Parallel(v.k.Integer(1), [&](ValueId) {
    v.k.Reduce(v.n, [&](ValueId j) -> std::vector<KernelBuilder::Reduced> {
      const ValueId element = v.LoadOf(v.x, j);
      v.StoreTo(v.y, j, element);
      return {{Reduction::kSum, element}};
    });
  });
  const std::string text = Finished(v.k);
  EXPECT_THAT(text, Not(HasSubstr("reduce")));
  EXPECT_THAT(text, HasSubstr("store @1"));
}

TEST(BuilderTest, BuffersAndSymbolsAreOrderedByKind) {
  KernelBuilder k;
  const ValueId two = k.Integer(2);
  const BufferId scratch = k.Local(Dtype::kInt32, {two});
  const BufferId out = k.Output(Dtype::kInt32, {two}, {two});
  const ValueId n = k.Symbol();
  const BufferId in = k.Input(Dtype::kInt32, {n}, {two});
  k.Parallel(two, [&](ValueId i) {
    k.Store(scratch, {i}, k.Load(in, {i}));
    k.Store(out, {i}, k.Load(scratch, {i}));
  });
  EXPECT_EQ(Finished(k), R"(kernel(%0) {
  %1 = i64 constant 2
  input @0 i32 [%0] strides [%1]
  output @1 i32 [%1] strides [%1]
  local @2 i32 [%1]
  parallel %2 < %1 {
    %3 = i32 load @0 [%2]
    store @2 [%2], %3
    %4 = i32 load @2 [%2]
    store @1 [%2], %4
  }
}
)");
}

// What the caller must not do is refused where it is done.
TEST(BuilderTest, MistakesOfTheCallerAreLogicErrors) {
  Vectors v;
  KernelBuilder& k = v.k;
  const ValueId half = k.Constant(Dtype::kFloat32, 0.5);
  const auto nothing = [](ValueId) {};
  EXPECT_THROW(k.Symbol(Dtype::kInt32), std::logic_error);
  EXPECT_THROW(k.Call(Opcode::kAdd, {v.n, half}), std::logic_error);
  EXPECT_THROW(k.Call(Opcode::kAdd, {v.n}), std::logic_error);
  EXPECT_THROW(k.Call(Opcode::kAdd, {v.n, 1000}), std::logic_error);
  EXPECT_THROW(k.Call(Opcode::kFloor, {v.n}), std::logic_error);
  EXPECT_THROW(k.Call(Opcode::kCast, {v.n}), std::logic_error);
  EXPECT_THROW(k.Bitcast(v.n, Dtype::kFloat32), std::logic_error);
  EXPECT_THROW(k.Integer(256, Dtype::kUint8), std::logic_error);
  EXPECT_THROW(k.Constant(Dtype::kInt32, 0.5), std::logic_error);
  EXPECT_THROW(k.Input(Dtype::kFloat32, {v.n}, {}), std::logic_error);
  EXPECT_THROW(k.Input(Dtype::kFloat32, {half}, {half}), std::logic_error);
  EXPECT_THROW(v.LoadOf(v.x, v.n), std::logic_error) << "outside of a loop";
  EXPECT_THROW(k.Parallel(half, nothing), std::logic_error);
  EXPECT_THROW(k.Reduce(v.n, [](ValueId) { return std::vector<KernelBuilder::Reduced>{}; }), std::logic_error);
  k.Parallel(v.n, [&](ValueId i) {
    EXPECT_THROW(v.LoadOf(7, i), std::logic_error);
    EXPECT_THROW(k.Load(v.x, {}), std::logic_error);
    EXPECT_THROW(v.LoadOf(v.x, half), std::logic_error);
    EXPECT_THROW(v.StoreTo(v.x, i, half), std::logic_error) << "an input";
    EXPECT_THROW(v.StoreTo(v.y, i, i), std::logic_error);
    EXPECT_THROW(k.LoadIf(i, v.x, {i}), std::logic_error);
    EXPECT_THROW(k.Local(Dtype::kFloat32, {i}), std::logic_error);
    ValueId inner = kNoValue;
    k.Parallel(v.n, [&](ValueId j) { inner = j; });
    EXPECT_THROW(v.LoadOf(v.x, inner), std::logic_error) << "out of scope";
    EXPECT_THROW(k.Finish(), std::logic_error);
  });
}

}  // namespace
}  // namespace hearth::fuser
