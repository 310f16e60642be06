#include "jit/interpreter/loop.h"
#include "jit/interpreter/profile.h"

namespace hearth {

InterpreterState::Outcome InterpreterState::TimedLoop() {
  return LoopWith(InstructionTimer(options_.profile.get(), options_.stream));
}

}  // namespace hearth
