#include "jit/fuser/ir/evaluator.h"

#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "jit/fuser/ir/aten_testing.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/softmax_testing.h"

namespace hearth::fuser {
namespace {

using ::testing::HasSubstr;
using Elements = std::vector<KernelBuilder::Reduced>;

// ---- Reductions against ATen ----

// The rows' reductions.
Kernel RowReduction(Reduction reduction, Dtype dtype) {
  KernelBuilder k;
  const ValueId rows = k.Symbol();
  const ValueId columns = k.Symbol();
  const ValueId one = k.Integer(1);
  const BufferId x = k.Input(dtype, {rows, columns}, {columns, one});
  const BufferId y = k.Output(ResultOf(reduction, dtype), {rows}, {one});
  k.Parallel(rows, [&](ValueId i) {
    const auto results = k.Reduce(columns, [&](ValueId j) -> Elements { return {{reduction, k.Load(x, {i, j})}}; });
    k.Store(y, {i}, results[0]);
  });
  return k.Finish();
}

at::Tensor AtenReduction(Reduction reduction, const at::Tensor& x) {
  switch (reduction) {
    case Reduction::kSum:
      return at::sum(x, 1, false, x.scalar_type());
    case Reduction::kProduct:
      return at::prod(x, 1, false, x.scalar_type());
    case Reduction::kMinimum:
      return at::amin(x, 1);
    case Reduction::kMaximum:
      return at::amax(x, 1);
    case Reduction::kArgMinimum:
      return at::argmin(x, 1);
    case Reduction::kArgMaximum:
      return at::argmax(x, 1);
  }
  return {};
}

at::Tensor RowsOf(Dtype dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {1, 2, 3, 4, 4, 3, 2, 1, 5, 5, 5, 5, 0, 2, 0, 2};
  if (dtype != Dtype::kUint8 && dtype != Dtype::kBool) values.insert(values.end(), {-1, 7, -7, 7, -128, -128, 2, 1});
  if (IsFloating(dtype)) {
    values.insert(values.end(),
                  {1,         nan, 2,  nan, nan,      0,        infinity, 1, infinity, 1,   -infinity, 2,
                   -infinity, 3,   -1, -2,  infinity, infinity, 1,        2, nan,      nan, nan,       nan});
  }
  return TensorOf(dtype, values).reshape({-1, 4});
}

TEST(EvaluatorTest, ReductionsAreThoseOfAten) {
  for (size_t i = 0; i < kNumReductions; ++i) {
    const auto reduction = static_cast<Reduction>(i);
    for (const Dtype dtype : kAllDtypes) {
      // ATen has no argmax of bool.
      if (!Takes(OperandsOf(reduction), dtype) || (IsArgReduction(reduction) && dtype == Dtype::kBool)) continue;
      SCOPED_TRACE(std::string(NameOf(reduction)) + " of " + std::string(NameOf(dtype)));
      const at::Tensor x = RowsOf(dtype);
      const at::Tensor expected = AtenReduction(reduction, x);
      for (const bool backwards : {false, true}) {
        const at::Tensor y = at::empty_like(expected);
        RunOnTensors(RowReduction(reduction, dtype), {x.size(0), 4}, {x, y}, {.backwards = backwards});
        ExpectLike(y, expected, Likeness::kEqual);
      }
    }
  }
}

TEST(EvaluatorTest, AReductionOfNothingIsItsIdentity) {
  const auto of_nothing = [](Reduction reduction, Dtype dtype) {
    const at::Tensor x = at::empty({1, 0}, ScalarTypeOf(dtype));
    const at::Tensor y = at::full({1}, 99, ScalarTypeOf(ResultOf(reduction, dtype)));
    RunOnTensors(RowReduction(reduction, dtype), {1, 0}, {x, y});
    return y.item<double>();
  };
  EXPECT_EQ(of_nothing(Reduction::kSum, Dtype::kFloat32), 0);
  EXPECT_EQ(of_nothing(Reduction::kProduct, Dtype::kInt8), 1);
  EXPECT_EQ(of_nothing(Reduction::kProduct, Dtype::kFloat64), 1);
  EXPECT_EQ(of_nothing(Reduction::kMinimum, Dtype::kFloat32), std::numeric_limits<double>::infinity());
  EXPECT_EQ(of_nothing(Reduction::kMaximum, Dtype::kFloat32), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(of_nothing(Reduction::kMinimum, Dtype::kInt16), 32767);
  EXPECT_EQ(of_nothing(Reduction::kMaximum, Dtype::kInt16), -32768);
  EXPECT_EQ(of_nothing(Reduction::kMaximum, Dtype::kUint8), 0);
  EXPECT_EQ(of_nothing(Reduction::kMinimum, Dtype::kUint8), 255);
  EXPECT_EQ(of_nothing(Reduction::kMinimum, Dtype::kBool), 1);
  EXPECT_EQ(of_nothing(Reduction::kMaximum, Dtype::kBool), 0);
  EXPECT_EQ(of_nothing(Reduction::kArgMaximum, Dtype::kFloat32), 0);
}

// ---- Whole kernels against ATen ----

at::Tensor RandomMatrix(int64_t rows, int64_t columns) {
  at::manual_seed(rows * 100 + columns);
  return at::randn({rows, columns});
}

TEST(EvaluatorTest, ASoftmax) {
  const Kernel kernel = Parse(kSoftmax);
  const at::Tensor x = RandomMatrix(3, 17);
  const at::Tensor y = at::empty_like(x);
  RunOnTensors(kernel, {3, 17}, {x, y});
  EXPECT_TRUE(at::allclose(y, at::softmax(x, 1), 1e-6, 0));
}

TEST(EvaluatorTest, ALayerNorm) {
  KernelBuilder k;
  const ValueId rows = k.Symbol();
  const ValueId columns = k.Symbol();
  const ValueId epsilon = k.Cast(k.Symbol(Dtype::kFloat64), Dtype::kFloat32);
  const ValueId one = k.Integer(1);
  const ValueId zero = k.Integer(0);
  const BufferId x = k.Input(Dtype::kFloat32, {rows, columns}, {columns, one});
  const BufferId weight = k.Input(Dtype::kFloat32, {rows, columns}, {zero, one});
  const BufferId bias = k.Input(Dtype::kFloat32, {rows, columns}, {zero, one});
  const BufferId y = k.Output(Dtype::kFloat32, {rows, columns}, {columns, one});
  k.Parallel(rows, [&](ValueId i) {
    const ValueId number = k.Cast(columns, Dtype::kFloat32);
    const auto sum_of = [&](const std::function<ValueId(ValueId)>& element) {
      return k.Reduce(columns, [&](ValueId j) -> Elements { return {{Reduction::kSum, element(j)}}; })[0];
    };
    const ValueId mean = k.Call(Opcode::kDivide, {sum_of([&](ValueId j) { return k.Load(x, {i, j}); }), number});
    const ValueId squares = sum_of([&](ValueId j) {
      const ValueId centred = k.Call(Opcode::kSubtract, {k.Load(x, {i, j}), mean});
      return k.Call(Opcode::kMultiply, {centred, centred});
    });
    const ValueId variance = k.Call(Opcode::kDivide, {squares, number});
    const ValueId deviation = k.Call(Opcode::kSquareRoot, {k.Call(Opcode::kAdd, {variance, epsilon})});
    k.Parallel(columns, [&](ValueId j) {
      const ValueId centred = k.Call(Opcode::kSubtract, {k.Load(x, {i, j}), mean});
      const ValueId normal = k.Call(Opcode::kDivide, {centred, deviation});
      k.Store(y, {i, j}, k.Call(Opcode::kFma, {normal, k.Load(weight, {i, j}), k.Load(bias, {i, j})}));
    });
  });
  const at::Tensor matrix = RandomMatrix(4, 9);
  const at::Tensor scale = RandomMatrix(1, 9)[0];
  const at::Tensor shift = RandomMatrix(1, 9)[0] + 1;
  const at::Tensor result = at::empty_like(matrix);
  RunOnTensors(k.Finish(), {4, 9, std::bit_cast<int64_t>(1e-5)}, {matrix, scale, shift, result});
  EXPECT_TRUE(at::allclose(result, at::layer_norm(matrix, {9}, scale, shift, 1e-5), 1e-5, 1e-5));
}

TEST(EvaluatorTest, AConcatenationByConditionalLoads) {
  KernelBuilder k;
  const ValueId first = k.Symbol();
  const ValueId second = k.Symbol();
  const ValueId one = k.Integer(1);
  const BufferId a = k.Input(Dtype::kFloat16, {first}, {one});
  const BufferId b = k.Input(Dtype::kFloat16, {second}, {one});
  const ValueId both = k.Call(Opcode::kAdd, {first, second});
  const BufferId y = k.Output(Dtype::kFloat16, {both}, {one});
  k.Parallel(both, [&](ValueId i) {
    const ValueId in_first = k.Call(Opcode::kLess, {i, first});
    const ValueId from_a = k.LoadIf(in_first, a, {i});
    const ValueId from_b = k.LoadIf(k.Call(Opcode::kNot, {in_first}), b, {k.Call(Opcode::kSubtract, {i, first})});
    k.Store(y, {i}, k.Call(Opcode::kSelect, {in_first, from_a, from_b}));
  });
  const at::Tensor left = at::randn({5}).to(at::kHalf);
  const at::Tensor right = at::randn({3}).to(at::kHalf);
  const at::Tensor joined = at::empty({8}, at::kHalf);
  RunOnTensors(k.Finish(), {5, 3}, {left, right, joined});
  EXPECT_TRUE(at::equal(joined, at::cat({left, right})));
}

TEST(EvaluatorTest, PaddingIsZero) {
  const Kernel kernel = Parse(R"(kernel(%0, %1) {
    %2 = i64 constant 1
    %3 = i64 constant 0
    input @0 f32 [%0] strides [%2]
    output @1 f32 [%1] strides [%2]
    parallel %4 < %1 {
      %5 = i64 subtract %4, %2
      %6 = b1 less_or_equal %3, %5
      %7 = b1 less %5, %0
      %8 = b1 and %6, %7
      %9 = f32 load_if %8, @0 [%5]
      store @1 [%4], %9
    }
  })");
  const at::Tensor x = at::randn({3});
  const at::Tensor y = at::full({6}, 9.0f);
  RunOnTensors(kernel, {3, 6}, {x, y});
  EXPECT_TRUE(at::equal(y, at::constant_pad_nd(x, {1, 2})));
}

TEST(EvaluatorTest, AGatherLoadsWithLoadedIndices) {
  const Kernel kernel = Parse(R"(kernel(%0, %1, %2) {
    %3 = i64 constant 1
    input @0 f64 [%0, %1] strides [%1, %3]
    input @1 i32 [%2] strides [%3]
    output @2 f64 [%2, %1] strides [%1, %3]
    parallel %4 < %2 {
      %5 = i32 load @1 [%4]
      %6 = i64 cast %5
      parallel %7 < %1 {
        %8 = f64 load @0 [%6, %7]
        store @2 [%4, %7], %8
      }
    }
  })");
  const at::Tensor table = at::randn({6, 4}, at::kDouble);
  const at::Tensor rows = TensorOf(Dtype::kInt32, {5, 0, 0, 3});
  const at::Tensor y = at::empty({4, 4}, at::kDouble);
  RunOnTensors(kernel, {6, 4, 4}, {table, rows, y});
  EXPECT_TRUE(at::equal(y, at::index_select(table, 0, rows)));
}

TEST(EvaluatorTest, StridesTransposeBroadcastAndReverse) {
  const Kernel kernel = Parse(R"(kernel(%0, %1, %2, %3) {
    input @0 i16 [%0, %1] strides [%2, %3]
    output @1 i16 [%0, %1] strides [%1, %4]
    parallel %5 < %0 {
      parallel %6 < %1 {
        %7 = i16 load @0 [%5, %6]
        store @1 [%5, %6], %7
      }
    }
  })");
  EXPECT_THROW(Verify(kernel), VerifyError) << "%4 is not defined before the buffers";

  const Kernel copy = Parse(R"(kernel(%0, %1, %2, %3) {
    %4 = i64 constant 1
    input @0 i16 [%0, %1] strides [%2, %3]
    output @1 i16 [%0, %1] strides [%1, %4]
    parallel %5 < %0 {
      parallel %6 < %1 {
        %7 = i16 load @0 [%5, %6]
        store @1 [%5, %6], %7
      }
    }
  })");
  const at::Tensor x = at::arange(12, at::kShort).reshape({3, 4});
  const auto copied = [&](const at::Tensor& view) {
    const at::Tensor y = at::empty(view.sizes(), at::kShort);
    RunOnTensors(copy, {view.size(0), view.size(1), view.stride(0), view.stride(1)}, {view, y});
    return y;
  };
  EXPECT_TRUE(at::equal(copied(x.t()), x.t()));
  EXPECT_TRUE(at::equal(copied(x.slice(1, 1, 4, 2)), x.slice(1, 1, 4, 2)));
  EXPECT_TRUE(at::equal(copied(x.select(0, 1).expand({5, 4})), x.select(0, 1).expand({5, 4})));

  const at::Tensor y = at::empty({3, 4}, at::kShort);
  BufferMemory reversed = MemoryOfTensor(x);
  reversed.origin = 11;
  Evaluate(copy, std::array<int64_t, 4>{3, 4, -4, -1}, std::array{reversed, MemoryOfTensor(y)});
  EXPECT_TRUE(at::equal(y, x.flip({0, 1})));
}

TEST(EvaluatorTest, ACumulativeSumCarriesItsSum) {
  const Kernel kernel = Parse(R"(kernel(%0, %1) {
    %2 = i64 constant 1
    %3 = i64 constant 0
    input @0 i64 [%0, %1] strides [%1, %2]
    output @1 i64 [%0, %1] strides [%1, %2]
    parallel %4 < %0 {
      %9 = sequential %5 < %1 (%6 = %3) {
        %7 = i64 load @0 [%4, %5]
        %8 = i64 add %6, %7
        store @1 [%4, %5], %8
        yield %8
      }
    }
  })");
  const at::Tensor x = at::randint(-9, 9, {3, 5}, at::kLong);
  const at::Tensor y = at::empty_like(x);
  RunOnTensors(kernel, {3, 5}, {x, y}, {.backwards = true});
  EXPECT_TRUE(at::equal(y, at::cumsum(x, 1)));
}

// Of 1, 1: each round hands on the second as the first, and both read what the round began with.
TEST(EvaluatorTest, CarriedValuesAreHandedOnAtOnce) {
  const Kernel kernel = Parse(R"(kernel(%0) {
    %1 = i64 constant 1
    output @0 i64 [] strides []
    parallel %2 < %1 {
      %7, %8 = sequential %3 < %0 (%4 = %1, %5 = %1) {
        %6 = i64 add %4, %5
        yield %5, %6
      }
      store @0 [], %7
    }
  })");
  const at::Tensor y = at::empty({}, at::kLong);
  RunOnTensors(kernel, {10}, {y});
  EXPECT_EQ(y.item<int64_t>(), 89);
}

TEST(EvaluatorTest, AnOutputHoldsWhatItHeldUntilItIsStored) {
  const Kernel kernel = Parse(R"(kernel(%0) {
    %1 = i64 constant 1
    output @0 f32 [%0] strides [%1]
    parallel %2 < %0 {
      %3 = f32 load @0 [%2]
      %4 = f32 add %3, %3
      store @0 [%2], %4
    }
  })");
  const at::Tensor y = at::arange(4, at::kFloat);
  RunOnTensors(kernel, {4}, {y});
  EXPECT_TRUE(at::equal(y, at::arange(4, at::kFloat) * 2));
}

TEST(EvaluatorTest, CarriedValuesMaySwap) {
  const Kernel kernel = Parse(R"(kernel(%0) {
    %1 = i64 constant 1
    %2 = i64 constant 2
    output @0 i64 [] strides []
    parallel %3 < %1 {
      %7, %8 = sequential %4 < %0 (%5 = %1, %6 = %2) {
        yield %6, %5
      }
      %9 = i64 subtract %7, %8
      store @0 [], %9
    }
  })");
  const at::Tensor y = at::empty({}, at::kLong);
  RunOnTensors(kernel, {3}, {y});
  EXPECT_EQ(y.item<int64_t>(), 1);
}

// ---- Errors ----

std::string ErrorOf(const std::string& body, int64_t n, const EvaluationOptions& options = {}) {
  const Kernel kernel = Parse(R"(kernel(%0) {
    %1 = i64 constant 1
    %2 = i64 constant 4
    output @0 i32 [%0] strides [%1]
    local @1 i32 [%2, %0]
)" + body + "}");
  Verify(kernel);
  std::array<std::byte, 16> bytes = {};
  try {
    Evaluate(kernel, std::array{n}, std::array{BufferMemory{bytes, 0}}, options);
  } catch (const EvaluationError& error) {
    return error.what();
  }
  return "none";
}

TEST(EvaluatorTest, IndicesOutsideOfTheSizesAreErrors) {
  const char* const body = "parallel %3 < %2 { %4 = i64 subtract %3, %1 %5 = i32 load @0 [%4] }";
  EXPECT_EQ(ErrorOf(body, 4), "%5 = i32 load @0 [%4]: index -1 of dimension 0, whose size is 4");
  EXPECT_EQ(ErrorOf("parallel %3 < %2 { %4 = i32 cast %3 store @0 [%3], %4 }", 3),
            "store @0 [%3], %4: index 3 of dimension 0, whose size is 3");
  EXPECT_EQ(ErrorOf("parallel %3 < %2 { %4 = i32 cast %3 store @0 [%3], %4 }", 4), "none");
}

TEST(EvaluatorTest, AddressesOutsideOfTheMemoryAreErrors) {
  EXPECT_EQ(ErrorOf("parallel %3 < %0 { %4 = i32 cast %3 store @0 [%3], %4 }", 5),
            "store @0 [%3], %4: element 4 of a memory of 4");
}

TEST(EvaluatorTest, LocalElementsMustBeStoredBeforeTheyAreLoaded) {
  const char* const fill_half = R"(parallel %3 < %1 {
    %4 = i32 cast %3
    parallel %5 < %0 { store @1 [%1, %5], %4 }
    parallel %6 < %0 { %7 = i32 load @1 [%1, %6] }
    %8 = i32 load @1 [%3, %3]
  })";
  EXPECT_EQ(ErrorOf(fill_half, 3), "%8 = i32 load @1 [%3, %3]: element 0 was not stored");
  // What the round before stored is no longer there.
  const char* const first_round_only = R"(parallel %3 < %2 {
    %4 = i32 cast %3
    %5 = i64 subtract %1, %3
    parallel %6 < %5 { store @1 [%6, %6], %4 }
    %7 = i64 constant 0
    %8 = i32 load @1 [%7, %7]
  })";
  EXPECT_EQ(ErrorOf(first_round_only, 3), "%8 = i32 load @1 [%7, %7]: element 0 was not stored");
}

TEST(EvaluatorTest, RoundsOfAParallelLoopHaveNoMemoryInCommon) {
  const char* const all_to_one = "parallel %3 < %0 { %4 = i32 cast %3 %5 = i64 constant 0 store @0 [%5], %4 }";
  EXPECT_EQ(ErrorOf(all_to_one, 1), "none");
  EXPECT_THAT(ErrorOf(all_to_one, 2), HasSubstr("another round of a parallel loop stores element 0"));
  // The element before may be loaded of a sequential loop only.
  const std::string neighbour = R"({
      %5 = i64 remainder %4, %0
      %6 = i32 cast %4
      store @0 [%4], %6
      %7 = i64 subtract %4, %1
      %8 = i64 constant 0
      %9 = i64 maximum %7, %8
      %10 = i32 load @0 [%9]
    } })";
  EXPECT_EQ(ErrorOf("parallel %3 < %1 { sequential %4 < %0 " + neighbour, 3), "none");
  EXPECT_THAT(ErrorOf("parallel %3 < %1 { parallel %4 < %0 " + neighbour, 3), HasSubstr("another round"));
  // One local buffer for all rounds of a loop that is not at the top, and for each round of one that is.
  const std::string fill = R"(%5 = i32 cast %4
      parallel %6 < %2 { %7 = i64 constant 0 store @1 [%6, %7], %5 } })";
  EXPECT_THAT(ErrorOf("parallel %3 < %1 { parallel %4 < %0 {" + fill + "}", 2), HasSubstr("another round"));
  EXPECT_EQ(ErrorOf("parallel %3 < %1 { sequential %4 < %0 {" + fill + "}", 2), "none");
  EXPECT_EQ(ErrorOf("parallel %3 < %0 { %4 = i64 negate %3 " + fill, 2), "none");
}

TEST(EvaluatorTest, ALoadBeforeAnotherRoundsStoreIsFoundBackwards) {
  const char* const next_one = R"(parallel %3 < %0 {
    %4 = i64 add %3, %1
    %5 = i64 remainder %4, %0
    %6 = i64 maximum %5, %3
    %7 = i32 load @0 [%6]
    store @0 [%3], %7
  })";
  EXPECT_EQ(ErrorOf(next_one, 4), "none");
  EXPECT_THAT(ErrorOf(next_one, 4, {.backwards = true}), HasSubstr("another round"));
}

TEST(EvaluatorTest, ARunHasABudget) {
  const char* const long_loops = "parallel %3 < %0 { parallel %4 < %0 { } }";
  EXPECT_EQ(ErrorOf(long_loops, 100), "none");
  EXPECT_THAT(ErrorOf(long_loops, 100, {.max_steps = 1000}), HasSubstr("more than 1000 steps"));
  EXPECT_THAT(ErrorOf("", int64_t{1} << 62), HasSubstr("@1 has more than"));
  EXPECT_THAT(ErrorOf("", -1), HasSubstr("negative size"));
}

TEST(EvaluatorTest, WhatIsGivenMustBeWhatTheKernelTakes) {
  const Kernel kernel = Parse("kernel(%0) { output @0 i32 [] strides [] }");
  EXPECT_THROW(Evaluate(kernel, {}, std::array{BufferMemory{}}), EvaluationError);
  EXPECT_THROW(Evaluate(kernel, std::array<int64_t, 1>{1}, {}), EvaluationError);
  EXPECT_NO_THROW(Evaluate(kernel, std::array<int64_t, 1>{1}, std::array{BufferMemory{}}));
}

}  // namespace
}  // namespace hearth::fuser
