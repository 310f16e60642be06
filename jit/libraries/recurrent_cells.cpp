#include "jit/libraries/recurrent_cells.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "jit/kernels/recurrence.h"
#include "jit/kernels/target.h"
#include "jit/support/denormals.h"
#include "jit/support/parallel_for.h"

namespace hearth::libraries {
namespace {

// Of more sequences, the library's products are as good.
constexpr int64_t kFewSequences = 64;
// Of a state's weights, that one thread is soon through with; with more than that, all threads take part in each step
// in the library.
constexpr int64_t kFewWeights = int64_t{1} << 20;
// About as long a multiplication takes.
constexpr double kNanosecondsOfProduct = 0.025;

int64_t GatesOf(const RecurrenceSettings& settings) { return settings.has_memory ? 4 : 3; }

// Of one direction: four gates, or three and what is added to the third one's state.
int64_t FloatsOfBias(int64_t hidden) { return kernels::PackedGates(4, hidden, 1); }

// What is added once, and a GRU's bias of its new gate's state.
void PackBiases(const RecurrenceSettings& settings, int64_t hidden, const at::Tensor& of_input,
                const at::Tensor& of_state, float* to) {
  const int64_t gates = GatesOf(settings);
  if (settings.has_memory) {
    kernels::PackGates(of_input.add(of_state).contiguous().const_data_ptr<float>(), gates, hidden, 1, to);
    return;
  }
  at::Tensor once = of_input.clone();
  once.slice(0, 0, 2 * hidden).add_(of_state.slice(0, 0, 2 * hidden));
  kernels::PackGates(once.const_data_ptr<float>(), gates, hidden, 1, to);
  kernels::PackGates(of_state.slice(0, 2 * hidden).contiguous().const_data_ptr<float>(), 1, hidden, 1,
                     to + kernels::PackedGates(gates, hidden, 1));
}

}  // namespace

bool HasCells() { return kernels::HasVectors(); }

bool SuitsCells(const RecurrenceSettings& settings, int64_t hidden, int64_t sequences) {
  const bool occupies_threads = settings.directions * sequences >= at::get_num_threads();
  const bool fits = occupies_threads || GatesOf(settings) * hidden * hidden <= kFewWeights;
  return HasCells() && sequences <= kFewSequences && fits;
}

std::vector<at::Tensor> PackCells(const RecurrenceSettings& settings, const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_gradients;
  const int64_t gates = GatesOf(settings), each = settings.has_biases ? 4 : 2;
  std::vector<at::Tensor> packed;
  for (int64_t layer = 0; layer < settings.layers; ++layer) {
    const auto first = static_cast<size_t>(layer * settings.directions * each);
    const int64_t inputs = parameters[first].size(1), hidden = parameters[first + 1].size(1);
    const int64_t of_input = kernels::PackedGates(gates, hidden, inputs),
                  of_state = kernels::PackedGates(gates, hidden, hidden), of_bias = FloatsOfBias(hidden);
    std::vector<at::Tensor> made;
    for (const int64_t floats : {of_input, of_state, of_bias}) {
      made.push_back(at::empty({settings.directions * floats}, at::kFloat));
    }
    for (int64_t i = 0; i < settings.directions; ++i) {
      const at::Tensor* const own = &parameters[first + static_cast<size_t>(i * each)];
      kernels::PackGates(own[0].contiguous().const_data_ptr<float>(), gates, hidden, inputs,
                         made[0].mutable_data_ptr<float>() + i * of_input);
      kernels::PackGates(own[1].contiguous().const_data_ptr<float>(), gates, hidden, hidden,
                         made[1].mutable_data_ptr<float>() + i * of_state);
      const at::Tensor none = settings.has_biases ? at::Tensor() : at::zeros({gates * hidden}, at::kFloat);
      PackBiases(settings, hidden, settings.has_biases ? own[2] : none, settings.has_biases ? own[3] : none,
                 made[2].mutable_data_ptr<float>() + i * of_bias);
    }
    packed.insert(packed.end(), made.begin(), made.end());
  }
  return packed;
}

at::Tensor RunCells(const RecurrenceSettings& settings, const std::vector<at::Tensor>& packed, at::Tensor input,
                    const at::Tensor& hidden, const at::Tensor* memory, Recurrence::Results& results) {
  const int64_t gates = GatesOf(settings), n = settings.directions, steps = input.size(0), sequences = input.size(1),
                units = hidden.size(2), width = kernels::PackedGates(gates, units, 1), rows = steps * sequences,
                of_bias = FloatsOfBias(units);
  const at::Tensor projected = at::empty({n, rows, width}, at::kFloat);
  if (memory != nullptr) results.memory.copy_(*memory);
  for (int64_t layer = 0; layer < settings.layers; ++layer) {
    const int64_t inputs = input.size(2);
    const auto cell_of = [&](int64_t i) {
      const auto at = static_cast<size_t>(3 * layer);
      const float* const bias = packed[at + 2].const_data_ptr<float>() + i * of_bias;
      return kernels::RecurrentCell{
          .has_memory = settings.has_memory,
          .inputs = inputs,
          .hidden = units,
          .of_input = packed[at].const_data_ptr<float>() + i * kernels::PackedGates(gates, units, inputs),
          .of_state = packed[at + 1].const_data_ptr<float>() + i * kernels::PackedGates(gates, units, units),
          .bias = bias,
          .state_bias = bias + width};
    };
    const auto* const from = input.const_data_ptr<float>();
    auto* const of_inputs = projected.mutable_data_ptr<float>();
    ParallelFor(rows, kNanosecondsOfProduct * static_cast<double>(n * inputs * width), [&](int64_t begin, int64_t end) {
      const DenormalsAreZero fast;
      for (int64_t i = 0; i < n; ++i) {
        kernels::ProjectInputs(cell_of(i), from + begin * inputs, inputs, end - begin,
                               of_inputs + (i * rows + begin) * width);
      }
    });
    at::Tensor output = at::empty({steps, sequences, n * units}, at::kFloat);
    auto* const to = output.mutable_data_ptr<float>();
    // Neither directions nor sequences wait for one another.
    const double of_all = kNanosecondsOfProduct * static_cast<double>(n * rows * width * units);
    const int64_t parts = std::clamp<int64_t>(kernels::DivideUp(ThreadsFor(of_all), n), 1, sequences);
    ParallelFor(n * parts, of_all / static_cast<double>(n * parts), [&](int64_t begin, int64_t end) {
      const DenormalsAreZero fast;
      for (int64_t each = begin; each < end; ++each) {
        const int64_t i = each / parts, part = each % parts;
        const int64_t first = sequences * part / parts, next = sequences * (part + 1) / parts;
        const int64_t state = ((layer * n + i) * sequences + first) * units;
        float* const output_of_part = to + first * n * units + i * units;
        kernels::RunCell(cell_of(i),
                         {.steps = steps,
                          .sequences = next - first,
                          .projected = of_inputs + (i * rows + first) * width,
                          .projected_stride = sequences * width,
                          .state = hidden.const_data_ptr<float>() + state,
                          .memory = memory == nullptr ? nullptr : results.memory.mutable_data_ptr<float>() + state,
                          .output = output_of_part,
                          .output_step = sequences * n * units,
                          .output_sequence = n * units,
                          .backwards = i == 1});
        const float* const last = output_of_part + (i == 1 ? 0 : (steps - 1) * sequences * n * units);
        for (int64_t row = 0; row < next - first; ++row) {
          std::copy_n(last + row * n * units, units, results.hidden.mutable_data_ptr<float>() + state + row * units);
        }
      }
    });
    input = std::move(output);
  }
  return input;
}

}  // namespace hearth::libraries
