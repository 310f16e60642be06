#include "jit/fuser/cuda/loop_code.h"

namespace hearth::fuser {

void LoopCode::BeginRounds(const std::string& first, const std::string& step) {
  const std::string rounds = wide ? "a.rounds" : "(unsigned)a.rounds";
  text.Begin("for (" + TypeOfRound() + " round = " + first + "; round < " + rounds + "; round += " + step + ")");
  text.Line("const " + names.TypeOf(loop.index) + " " + NameOfValue(loop.index) + " = round;");
}

}  // namespace hearth::fuser
