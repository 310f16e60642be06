#include "jit/kernels/recurrence.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

#include "jit/kernels/target.h"
#include "jit/kernels/vector_math.h"

namespace hearth::kernels {
namespace {

constexpr int64_t kUnits = 16;  // of a panel of packed weights

// Rows that are multiplied with all gates of a panel at a time: their sums fill 24 registers.
constexpr int RowsOfGates(int gates) { return 24 / gates; }

HEARTH_AVX512_BEGIN

// Of one panel: to[row] = bias + input[row] * weights.
template <int kGates, int kRows>
void ProjectRows(const float* input, int64_t stride, int64_t inputs, const float* weights, const float* bias, float* to,
                 int64_t to_stride) {
  __m512 sums[kRows][kGates];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) sums[row][gate] = _mm512_loadu_ps(bias + gate * kUnits);
  }
  for (int64_t i = 0; i < inputs; ++i) {
    __m512 weight[kGates];
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) weight[gate] = _mm512_loadu_ps(weights + (i * kGates + gate) * kUnits);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const __m512 number = _mm512_set1_ps(input[row * stride + i]);
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates; ++gate)
        sums[row][gate] = _mm512_fmadd_ps(number, weight[gate], sums[row][gate]);
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) {
      _mm512_storeu_ps(to + row * to_stride + gate * kUnits, sums[row][gate]);
    }
  }
}

// Where some sequences of a step are, for one panel of units.
struct StepRows {
  const float* projected;
  int64_t projected_stride;
  const float* state;  // all units of the step before
  int64_t state_stride;
  float* memory;
  int64_t memory_stride;
  float* output;
  int64_t output_stride;
  int64_t first_unit;
  __mmask16 units;
};

// The sums that the state gives, of one panel. Of two chains, so that a few sequences do not wait for additions.
template <int kGates, int kRows>
__attribute__((always_inline)) inline void MultiplyState(const StepRows& rows, int64_t hidden, const float* weights,
                                                         __m512 (&sums)[kRows][kGates]) {
  constexpr int kChains = kRows * kGates <= 12 ? 2 : 1;
  __m512 chains[kChains][kRows][kGates];
#pragma GCC unroll 16
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates; ++gate) chains[chain][row][gate] = _mm512_setzero_ps();
    }
  }
  const auto add = [&](__m512(&to)[kRows][kGates], int64_t i) __attribute__((always_inline)) {
    __m512 weight[kGates];
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) weight[gate] = _mm512_loadu_ps(weights + (i * kGates + gate) * kUnits);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const __m512 number = _mm512_set1_ps(rows.state[row * rows.state_stride + i]);
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates; ++gate) to[row][gate] = _mm512_fmadd_ps(number, weight[gate], to[row][gate]);
    }
  };
  int64_t i = 0;
  for (; i + kChains <= hidden; i += kChains) {
#pragma GCC unroll 16
    for (int chain = 0; chain < kChains; ++chain) add(chains[chain], i + chain);
  }
  for (; i < hidden; ++i) add(chains[0], i);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) {
      sums[row][gate] = chains[0][row][gate];
      if constexpr (kChains == 2) sums[row][gate] = _mm512_add_ps(sums[row][gate], chains[1][row][gate]);
    }
  }
}

template <int kGates, int kRows>
void StepPanel(const StepRows& rows, int64_t hidden, const float* weights, const float* state_bias) {
  __m512 sums[kRows][kGates];
  MultiplyState<kGates, kRows>(rows, hidden, weights, sums);
  for (int row = 0; row < kRows; ++row) {
    const float* const projected = rows.projected + row * rows.projected_stride;
    const auto gate = [&](int number) __attribute__((always_inline)) {
      return _mm512_add_ps(sums[row][number], _mm512_loadu_ps(projected + number * kUnits));
    };
    __m512 result;
    if constexpr (kGates == 4) {
      float* const memory = rows.memory + row * rows.memory_stride;
      const __m512 kept = _mm512_mul_ps(Sigmoid(gate(1)), _mm512_maskz_loadu_ps(rows.units, memory));
      const __m512 next = _mm512_fmadd_ps(Sigmoid(gate(0)), Tanh(gate(2)), kept);
      _mm512_mask_storeu_ps(memory, rows.units, next);
      result = _mm512_mul_ps(Sigmoid(gate(3)), Tanh(next));
    } else {
      const __m512 before = _mm512_maskz_loadu_ps(rows.units, rows.state + row * rows.state_stride + rows.first_unit);
      const __m512 of_state = _mm512_add_ps(sums[row][2], _mm512_loadu_ps(state_bias));
      const __m512 fresh = Tanh(_mm512_fmadd_ps(Sigmoid(gate(0)), of_state, _mm512_loadu_ps(projected + 2 * kUnits)));
      result = _mm512_fmadd_ps(Sigmoid(gate(1)), _mm512_sub_ps(before, fresh), fresh);
    }
    _mm512_mask_storeu_ps(rows.output + row * rows.output_stride, rows.units, result);
  }
}

using ProjectFunction = void (*)(const float*, int64_t, int64_t, const float*, const float*, float*, int64_t);
using StepFunction = void (*)(const StepRows&, int64_t, const float*, const float*);

// By how many rows, less one.
template <int kGates, size_t... kIndex>
constexpr std::array<ProjectFunction, sizeof...(kIndex)> ProjectFunctions(std::index_sequence<kIndex...> /*rows*/) {
  return {ProjectRows<kGates, kIndex + 1>...};
}
template <int kGates, size_t... kIndex>
constexpr std::array<StepFunction, sizeof...(kIndex)> StepFunctions(std::index_sequence<kIndex...> /*rows*/) {
  return {StepPanel<kGates, kIndex + 1>...};
}

template <int kGates>
void Project(const RecurrentCell& cell, const float* input, int64_t stride, int64_t rows, float* projected) {
  constexpr int64_t kMost = RowsOfGates(kGates);
  static constexpr auto kFunctions = ProjectFunctions<kGates>(std::make_index_sequence<kMost>());
  const int64_t panels = (cell.hidden + kUnits - 1) / kUnits, width = panels * kGates * kUnits;
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t column = panel * kGates * kUnits;
    for (int64_t row = 0; row < rows; row += kMost) {
      kFunctions[static_cast<size_t>(std::min(kMost, rows - row) - 1)](
          input + row * stride, stride, cell.inputs, cell.of_input + column * cell.inputs, cell.bias + column,
          projected + row * width + column, width);
    }
  }
}

template <int kGates>
void Run(const RecurrentCell& cell, const RecurrentSteps& all) {
  constexpr int64_t kMost = RowsOfGates(kGates);
  static constexpr auto kFunctions = StepFunctions<kGates>(std::make_index_sequence<kMost>());
  const int64_t panels = (cell.hidden + kUnits - 1) / kUnits, width = panels * kGates * kUnits;
  const float* state = all.state;
  int64_t state_stride = cell.hidden;
  for (int64_t i = 0; i < all.steps; ++i) {
    const int64_t step = all.backwards ? all.steps - 1 - i : i;
    float* const output = all.output + step * all.output_step;
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t unit = panel * kUnits, column = unit * kGates;
      const auto units =
          static_cast<__mmask16>(unit + kUnits <= cell.hidden ? 0xffff : (1 << (cell.hidden - unit)) - 1);
      for (int64_t row = 0; row < all.sequences; row += kMost) {
        const StepRows rows{.projected = all.projected + step * all.projected_stride + row * width + column,
                            .projected_stride = width,
                            .state = state + row * state_stride,
                            .state_stride = state_stride,
                            .memory = kGates == 4 ? all.memory + row * cell.hidden + unit : nullptr,
                            .memory_stride = cell.hidden,
                            .output = output + row * all.output_sequence + unit,
                            .output_stride = all.output_sequence,
                            .first_unit = unit,
                            .units = units};
        kFunctions[static_cast<size_t>(std::min(kMost, all.sequences - row) - 1)](
            rows, cell.hidden, cell.of_state + column * cell.hidden, kGates == 4 ? nullptr : cell.state_bias + unit);
      }
    }
    state = output;
    state_stride = all.output_sequence;
  }
}

HEARTH_AVX512_END

}  // namespace

int64_t PackedGates(int64_t gates, int64_t hidden, int64_t columns) {
  return (hidden + kUnits - 1) / kUnits * kUnits * gates * columns;
}

void PackGates(const float* weight, int64_t gates, int64_t hidden, int64_t columns, float* to) {
  for (int64_t first = 0; first < hidden; first += kUnits) {
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t gate = 0; gate < gates; ++gate) {
        for (int64_t unit = first; unit < first + kUnits; ++unit) {
          *to++ = unit < hidden ? weight[(gate * hidden + unit) * columns + column] : 0;
        }
      }
    }
  }
}

void ProjectInputs(const RecurrentCell& cell, const float* input, int64_t stride, int64_t rows, float* projected) {
  if (cell.has_memory) {
    Project<4>(cell, input, stride, rows, projected);
  } else {
    Project<3>(cell, input, stride, rows, projected);
  }
}

void RunCell(const RecurrentCell& cell, const RecurrentSteps& steps) {
  if (cell.has_memory) {
    Run<4>(cell, steps);
  } else {
    Run<3>(cell, steps);
  }
}

}  // namespace hearth::kernels
