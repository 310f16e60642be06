#include "jit/libraries/recurrence.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace hearth::libraries {
namespace {

constexpr int64_t kInputs = 12, kHidden = 20;

std::vector<at::Tensor> Parameters(const RecurrenceSettings& settings) {
  const int64_t gates = settings.has_memory ? 4 : 3;
  std::vector<at::Tensor> parameters;
  for (int64_t layer = 0; layer < settings.layers; ++layer) {
    for (int64_t i = 0; i < settings.directions; ++i) {
      // Larger ones would make much of a rounding.
      parameters.push_back(at::randn({gates * kHidden, layer == 0 ? kInputs : settings.directions * kHidden}).mul(0.3));
      parameters.push_back(at::randn({gates * kHidden, kHidden}).mul(0.3));
      for (int k = 0; settings.has_biases && k < 2; ++k) parameters.push_back(at::randn({gates * kHidden}));
    }
  }
  return parameters;
}

TEST(RecurrenceTest, GivesWhatLibTorchDoes) {
  for (int bits = 0; bits < 32; ++bits) {
    const RecurrenceSettings settings{.has_memory = (bits & 1) != 0,
                                      .has_biases = (bits & 2) != 0,
                                      .layers = (bits & 4) != 0 ? 2 : 1,
                                      .directions = (bits & 8) != 0 ? 2 : 1,
                                      .batch_first = (bits & 16) != 0};
    const std::vector<at::Tensor> parameters = Parameters(settings);
    // Sequences for which there are kernels of hearth's own, also such as threads share, and more, which are oneDNN's.
    for (const auto& [steps, sequences] :
         std::vector<std::pair<int64_t, int64_t>>{{7, 3}, {5, 1}, {2, 8}, {40, 40}, {7, 70}, {7, 100}}) {
      Recurrence planned(settings, parameters);
      const std::string forms = planned.FormsFor(steps, sequences);
      if (forms.empty()) continue;  // oneDNN's GRU for many sequences has weights whose form has no name
      planned.SetWeights(forms, planned.PackFor(steps, sequences));
      planned.Prepare(steps, sequences);
      const at::Tensor input =
          settings.batch_first ? at::randn({sequences, steps, kInputs}) : at::randn({steps, sequences, kInputs});
      const std::vector<int64_t> state = {settings.layers * settings.directions, sequences, kHidden};
      const at::Tensor hidden = at::randn(state), memory = at::randn(state);
      const auto found = planned.Run(input, hidden, settings.has_memory ? &memory : nullptr);
      ASSERT_TRUE(found.has_value()) << bits;
      std::vector<at::Tensor> expected;
      if (settings.has_memory) {
        const auto [output, last, last_memory] =
            at::lstm(input, {hidden, memory}, parameters, settings.has_biases, settings.layers, 0.0, /*train=*/false,
                     settings.directions == 2, settings.batch_first);
        expected = {output, last, last_memory};
      } else {
        const auto [output, last] = at::gru(input, hidden, parameters, settings.has_biases, settings.layers, 0.0,
                                            /*train=*/false, settings.directions == 2, settings.batch_first);
        expected = {output, last};
      }
      EXPECT_TRUE(at::allclose(found->output, expected[0], 1e-4, 1e-5)) << bits;
      EXPECT_EQ(found->output.strides(), expected[0].strides()) << bits;
      EXPECT_TRUE(at::allclose(found->hidden, expected[1], 1e-4, 1e-5)) << bits;
      if (settings.has_memory) {
        EXPECT_TRUE(at::allclose(found->memory, expected[2], 1e-4, 1e-5)) << bits;
      }
    }
  }
}

TEST(RecurrenceTest, HasNothingForWhatWasNotPreparedOrIsOfAnotherKind) {
  const RecurrenceSettings settings{.has_memory = true};
  Recurrence planned(settings, Parameters(settings));
  const at::Tensor input = at::randn({7, 100, kInputs}), state = at::randn({1, 100, kHidden});
  EXPECT_FALSE(planned.Run(input, state, &state).has_value());
  planned.SetWeights(planned.FormsFor(7, 100), planned.PackFor(7, 100));
  EXPECT_FALSE(planned.Run(input, state, &state).has_value());
  planned.Prepare(7, 100);
  EXPECT_TRUE(planned.Run(input, state, &state).has_value());
  EXPECT_FALSE(planned.Run(input.slice(0, 1), state, &state).has_value());
  EXPECT_FALSE(planned.Run(input[0], state, &state).has_value());
  EXPECT_FALSE(planned.Run(input.to(at::kDouble), state, &state).has_value());
  EXPECT_FALSE(planned.Run(input, state, nullptr).has_value());
  EXPECT_FALSE(planned.Run(input, state.slice(2, 1), &state).has_value());
  EXPECT_ANY_THROW(Recurrence({.has_memory = true, .layers = 2}, Parameters(settings)));
  EXPECT_ANY_THROW(Recurrence({.has_memory = false}, Parameters(settings)));
}

}  // namespace
}  // namespace hearth::libraries
