// A kernel that tests of the builder, the evaluator and the back ends share.
#pragma once

namespace hearth::fuser {

// Softmax of the rows of a matrix of any size, as Print writes it.
inline constexpr char kSoftmax[] = R"(kernel(%0, %1) {
  %2 = i64 constant 1
  input @0 f32 [%0, %1] strides [%1, %2]
  output @1 f32 [%0, %1] strides [%1, %2]
  local @2 f32 [%1]
  parallel %3 < %0 {
    %6 = reduce %4 < %1 {
      %5 = f32 load @0 [%3, %4]
      yield maximum %5
    }
    %11 = reduce %7 < %1 {
      %8 = f32 load @0 [%3, %7]
      %9 = f32 subtract %8, %6
      %10 = f32 exp %9
      store @2 [%7], %10
      yield sum %10
    }
    parallel %12 < %1 {
      %13 = f32 load @2 [%12]
      %14 = f32 divide %13, %11
      store @1 [%3, %12], %14
    }
  }
}
)";

}  // namespace hearth::fuser
