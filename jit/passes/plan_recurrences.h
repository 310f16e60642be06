// LSTM and GRU layers with constant weights become planned calls (libraries/recurrence.h) where it is known how many
// steps and sequences they will likely have: hearth::lstm and hearth::gru. On a GPU their weights are laid into one
// piece, as cuDNN wants them. Not for graphs that may record gradients. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool PlanRecurrences(Compilation& compilation);

}  // namespace hearth
