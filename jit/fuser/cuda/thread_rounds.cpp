#include "jit/fuser/cuda/thread_rounds.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/fuser/cuda/buffers_in_cuda.h"
#include "jit/fuser/cuda/thread_code.h"
#include "jit/fuser/cuda/vector_accesses.h"
#include "jit/fuser/cuda/vector_plan.h"

namespace hearth::fuser {
namespace {

// Several rounds of each thread together.
class VectorRounds {
 public:
  VectorRounds(LoopCode& code, const VectorPlan& plan)
      : code_(code),
        plan_(plan),
        width_(std::to_string(plan.width)),
        accesses_(InOrder(code.loop.body, plan.accesses)),
        inner_accesses_(InOrder(code.loop.body, plan.inner_accesses)) {}

  void Emit() {
    const std::string stride = " * " + width_ + "ULL";
    code_.text.Line("const unsigned in_vectors = " + IsAligned() + " ? (unsigned)a.rounds / " + width_ + " * " +
                    width_ + " : 0;");
    code_.text.Begin("for (unsigned long long first = thread" + stride + "; first < in_vectors; first += threads" +
                     stride + ")");
    DeclareVectors();
    DeclareQuotient();
    for (const Instruction* access : inner_accesses_) {
      code_.text.Line(TypeOfVector(code_, *access, plan_.width) + " " + NameOfVector(*access) + ";");
    }
    EmitParts();
    for (const Instruction* access : accesses_) {
      if (access->opcode == Opcode::kStore) code_.text.Line(InMemory(*access) + " = " + NameOfVector(*access) + ";");
    }
    code_.text.End();
  }

 private:
  // The condition that each buffer's memory is.
  std::string IsAligned() const {
    std::vector<const Instruction*> all = accesses_;
    all.insert(all.end(), inner_accesses_.begin(), inner_accesses_.end());
    std::string aligned;
    std::set<BufferId> buffers;
    for (const Instruction* access : all) {
      if (!buffers.insert(access->buffer).second) continue;
      aligned += (aligned.empty() ? "" : " && ") + ("(unsigned long long)a." + NameOfBuffer(access->buffer)) + " % " +
                 std::to_string(plan_.width * BytesOf(access->dtype)) + " == 0";
    }
    return aligned;
  }

  std::string InMemory(const Instruction& access) const {
    const std::string constant = access.opcode == Opcode::kStore ? "" : "const ";
    return "*(" + constant + TypeOfVector(code_, access, plan_.width) + "*)(a." + NameOfBuffer(access.buffer) +
           " + first)";
  }

  void DeclareVectors() {
    for (const Instruction* access : accesses_) {
      const bool is_store = access->opcode == Opcode::kStore;
      const std::string vector = TypeOfVector(code_, *access, plan_.width) + " " + NameOfVector(*access);
      code_.text.Line(is_store ? vector + ";" : "const " + vector + " = " + InMemory(*access) + ";");
    }
  }

  // And the rest, of the first round: one division for all of a thread's rounds.
  void DeclareQuotient() {
    if (plan_.quotient == kNoValue) return;
    const std::string constant = plan_.is_even ? "const " : "";
    const std::string extent = "(unsigned)" + code_.names.NameOf(plan_.extent);
    code_.text.Line(constant + "int quotient = (unsigned)first / " + extent + ";");
    code_.text.Line(constant + "int rest = (unsigned)first % " + extent + ";");
  }

  void EmitParts() {
    code_.text.Line("#pragma unroll");
    code_.text.Begin("for (int part = 0; part < " + width_ + "; ++part)");
    code_.text.Line("const int " + NameOfValue(code_.loop.index) + " = (int)first + part;");
    EmitThreadBody(code_, code_.loop.body, {.accesses = &plan_.accesses, .rounds = &plan_});
    if (plan_.quotient != kNoValue && !plan_.is_even) {
      code_.text.Begin("if (++rest == " + code_.names.NameOf(plan_.extent) + ")");
      code_.text.Line("rest = 0;");
      code_.text.Line("++quotient;");
      code_.text.End();
    }
    code_.text.End();
  }

  LoopCode& code_;
  const VectorPlan& plan_;
  const std::string width_;
  const std::vector<const Instruction*> accesses_;
  const std::vector<const Instruction*> inner_accesses_;
};

}  // namespace

void EmitThreadRounds(LoopCode& code) {
  const std::string type = code.TypeOfRound();
  code.text.Line("const " + type + " thread = (" + type + ")blockIdx.x * blockDim.x + threadIdx.x;");
  code.text.Line("const " + type + " threads = (" + type + ")gridDim.x * blockDim.x;");
  std::optional<VectorPlan> vectors;
  if (!code.wide && code.device_loop.rounds_per_thread > 1) {
    vectors = VectorPlanOf(code.kernel, code.loop, code.names.widths());
  }
  if (vectors) VectorRounds(code, *vectors).Emit();
  code.BeginRounds(vectors ? "in_vectors + thread" : "thread", "threads");
  EmitThreadBody(code, code.loop.body, {});
  code.text.End();
}

}  // namespace hearth::fuser
