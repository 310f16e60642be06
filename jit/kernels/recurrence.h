// LSTM and GRU cells step by step, for a few sequences at a time: the products of all steps' inputs first, then in each
// step those of the state, with the gates computed while their sums are in registers. Weights are packed so that the
// gates of a vector of hidden units lie together; a step's pass over them is what it takes time for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::kernels {

// One layer in one direction. Its packed numbers are as PackGates and PackGateBias give them; hidden units are padded
// to whole vectors with zeros.
struct RecurrentCell {
  bool has_memory;  // an LSTM's, with gates in LibTorch's order: input, forget, cell, output; a GRU's: reset, update,
                    // new
  int64_t inputs, hidden;
  const float* of_input;
  const float* of_state;
  const float* bias;        // of all gates: what is added once
  const float* state_bias;  // of a GRU's new gate: what is added before the reset gate

  int64_t gates() const { return has_memory ? 4 : 3; }
};

// Floats of a packed weight of so many columns, and of what inputs give for one step of one sequence (columns = 1).
int64_t PackedGates(int64_t gates, int64_t hidden, int64_t columns);
// `weight`: [gates * hidden, columns].
void PackGates(const float* weight, int64_t gates, int64_t hidden, int64_t columns, float* to);

// The products of `rows` inputs with the weights, and the bias, for RunCell.
void ProjectInputs(const RecurrentCell& cell, const float* input, int64_t stride, int64_t rows, float* projected);

// A step's rows: those of all sequences.
struct RecurrentSteps {
  int64_t steps, sequences;
  const float* projected;                // step by step, of all sequences each
  int64_t projected_stride;              // from step to step
  const float* state;                    // before, [sequences, hidden]
  float* memory;                         // an LSTM's, before and after, [sequences, hidden]
  float* output;                         // of step 0; a state for each step and sequence
  int64_t output_step, output_sequence;  // strides
  bool backwards;                        // from the last step to the first
};

void RunCell(const RecurrentCell& cell, const RecurrentSteps& steps);

}  // namespace hearth::kernels
