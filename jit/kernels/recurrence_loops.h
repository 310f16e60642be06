// The loops of recurrence.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

constexpr int64_t kUnits = kLanes;  // of a panel of packed weights

// Rows that are multiplied with all gates of a panel at a time.
constexpr int RowsOfGates(int gates) { return kSumRegisters / gates; }

// Of one panel: to[row] = bias + input[row] * weights.
template <int kGates, int kRows>
void ProjectRows(const float* input, int64_t stride, int64_t inputs, const float* weights, const float* bias, float* to,
                 int64_t to_stride) {
  Vector sums[kRows][kGates];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) sums[row][gate] = LoadUnaligned(bias + gate * kUnits);
  }
  for (int64_t i = 0; i < inputs; ++i) {
    Vector weight[kGates];
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) weight[gate] = LoadUnaligned(weights + (i * kGates + gate) * kUnits);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vector number = Broadcast(input[row * stride + i]);
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates; ++gate) sums[row][gate] = MultiplyAdd(number, weight[gate], sums[row][gate]);
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) {
      StoreUnaligned(to + row * to_stride + gate * kUnits, sums[row][gate]);
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
  int64_t units;  // of the panel
};

// The sums that the state gives, of one panel. Of two chains, so that a few sequences do not wait for additions.
template <int kGates, int kRows>
__attribute__((always_inline)) inline void MultiplyState(const StepRows& rows, int64_t hidden, const float* weights,
                                                         Vector (&sums)[kRows][kGates]) {
  constexpr int kChains = 2 * kRows * kGates <= kSumRegisters ? 2 : 1;
  Vector chains[kChains][kRows][kGates];
#pragma GCC unroll 16
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates; ++gate) chains[chain][row][gate] = Zeros();
    }
  }
  const auto add = [&](Vector(&to)[kRows][kGates], int64_t i) __attribute__((always_inline)) {
    Vector weight[kGates];
#pragma GCC unroll 16
    for (int gate = 0; gate < kGates; ++gate) weight[gate] = LoadUnaligned(weights + (i * kGates + gate) * kUnits);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vector number = Broadcast(rows.state[row * rows.state_stride + i]);
#pragma GCC unroll 16
      for (int gate = 0; gate < kGates; ++gate) to[row][gate] = MultiplyAdd(number, weight[gate], to[row][gate]);
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
      if constexpr (kChains == 2) sums[row][gate] = Add(sums[row][gate], chains[1][row][gate]);
    }
  }
}

template <int kGates, int kRows>
void StepPanel(const StepRows& rows, int64_t hidden, const float* weights, const float* state_bias) {
  Vector sums[kRows][kGates];
  MultiplyState<kGates, kRows>(rows, hidden, weights, sums);
  for (int row = 0; row < kRows; ++row) {
    const float* const projected = rows.projected + row * rows.projected_stride;
    const auto gate = [&](int number) __attribute__((always_inline)) {
      return Add(sums[row][number], LoadUnaligned(projected + number * kUnits));
    };
    Vector result;
    if constexpr (kGates == 4) {
      float* const memory = rows.memory + row * rows.memory_stride;
      const Vector kept = Multiply(Sigmoid(gate(1)), LoadFirst(memory, rows.units));
      const Vector next = MultiplyAdd(Sigmoid(gate(0)), Tanh(gate(2)), kept);
      StoreFirst(memory, rows.units, next);
      result = Multiply(Sigmoid(gate(3)), Tanh(next));
    } else {
      const Vector before = LoadFirst(rows.state + row * rows.state_stride + rows.first_unit, rows.units);
      const Vector of_state = Add(sums[row][2], LoadUnaligned(state_bias));
      const Vector fresh = Tanh(MultiplyAdd(Sigmoid(gate(0)), of_state, LoadUnaligned(projected + 2 * kUnits)));
      result = MultiplyAdd(Sigmoid(gate(1)), Subtract(before, fresh), fresh);
    }
    StoreFirst(rows.output + row * rows.output_stride, rows.units, result);
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
      const int64_t units = std::min(kUnits, cell.hidden - unit);
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
