#include "jit/fuser/ir/evaluator.h"

#include <string>
#include <utility>
#include <vector>

#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/round_path.h"
#include "jit/fuser/ir/scalar_math.h"

namespace hearth::fuser {
namespace {

// A buffer of a run: numbers where the kernel has values.
struct RunBuffer {
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t origin = 0;
  int64_t num_elements = 0;
  std::byte* memory = nullptr;
  // Of a local buffer: its memory, and for each element the round at the top that stored it last; 0: none.
  std::vector<std::byte> own_memory;
  std::vector<uint64_t> stored_in;
  // By element, where it was stored last.
  std::vector<RoundPath> stored_by;
};

class Evaluation {
 public:
  Evaluation(const Kernel& kernel, const EvaluationOptions& options)
      : kernel_(kernel),
        options_(options),
        steps_left_(options.max_steps),
        dtypes_(DtypesOf(kernel)),
        values_(kernel.num_values) {}

  void Run(std::span<const int64_t> symbols, std::span<const BufferMemory> buffers) {
    if (symbols.size() != kernel_.symbols.size()) throw EvaluationError("another number of symbols is given");
    if (buffers.size() != kernel_.num_inputs() + kernel_.num_outputs()) {
      throw EvaluationError("another number of buffers is given");
    }
    for (size_t i = 0; i < symbols.size(); ++i) values_[i] = static_cast<Bits>(symbols[i]);
    RunBody(kernel_.prologue);
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      RunBuffer buffer = Measure(kernel_.buffers[i], i);
      if (kernel_.buffers[i].kind == BufferKind::kLocal) {
        MakeLocal(&buffer, i);
      } else {
        buffer.memory = buffers[i].bytes.data();
        buffer.num_elements = static_cast<int64_t>(buffers[i].bytes.size() / BytesOf(buffer.dtype));
        buffer.origin = buffers[i].origin;
      }
      if (kernel_.buffers[i].kind != BufferKind::kInput)
        buffer.stored_by.resize(static_cast<size_t>(buffer.num_elements));
      buffers_.push_back(std::move(buffer));
    }
    for (const Statement& statement : kernel_.body) RunLoop(statement, /*top=*/true);
  }

 private:
  [[noreturn]] static void Fail(const Statement& statement, const std::string& what) {
    throw EvaluationError(Print(statement) + ": " + what);
  }

  int64_t IntegerAt(ValueId value) const { return static_cast<int64_t>(values_[value]); }

  void Step(const Statement& statement) {
    if (steps_left_ == 0) Fail(statement, "more than " + std::to_string(options_.max_steps) + " steps");
    --steps_left_;
  }

  // ---- Buffers ----

  RunBuffer Measure(const Buffer& buffer, size_t number) const {
    RunBuffer run;
    run.dtype = buffer.dtype;
    for (const ValueId size : buffer.sizes) {
      run.sizes.push_back(IntegerAt(size));
      if (run.sizes.back() < 0) throw EvaluationError("@" + std::to_string(number) + " has a negative size");
    }
    for (const ValueId stride : buffer.strides) run.strides.push_back(IntegerAt(stride));
    return run;
  }

  void MakeLocal(RunBuffer* buffer, size_t number) const {
    int64_t elements = 1;
    buffer->strides.resize(buffer->sizes.size());
    for (size_t i = buffer->sizes.size(); i-- > 0;) {
      buffer->strides[i] = elements;
      // With a size of 0 the other ones do not matter.
      const int64_t size = buffer->sizes[i];
      if (size != 0 && elements > options_.max_local_elements / size) {
        throw EvaluationError("@" + std::to_string(number) + " has more than " +
                              std::to_string(options_.max_local_elements) + " elements");
      }
      elements *= size;
    }
    buffer->num_elements = elements;
    buffer->own_memory.resize(static_cast<size_t>(elements) * BytesOf(buffer->dtype));
    buffer->stored_in.assign(static_cast<size_t>(elements), 0);
    buffer->memory = buffer->own_memory.data();
  }

  // The place of the element that the operands from `first` on index.
  int64_t PlaceOf(const Statement& statement, const RunBuffer& buffer, size_t first) const {
    const std::vector<ValueId>& operands = statement.instruction.operands;
    int64_t place = buffer.origin;
    for (size_t i = 0; i < buffer.sizes.size(); ++i) {
      const int64_t index = IntegerAt(operands[first + i]);
      if (index < 0 || index >= buffer.sizes[i]) {
        Fail(statement, "index " + std::to_string(index) + " of dimension " + std::to_string(i) + ", whose size is " +
                            std::to_string(buffer.sizes[i]));
      }
      int64_t distance = 0;
      if (__builtin_mul_overflow(index, buffer.strides[i], &distance) ||
          __builtin_add_overflow(place, distance, &place)) {
        Fail(statement, "the address overflows");
      }
    }
    if (place < 0 || place >= buffer.num_elements) {
      Fail(statement, "element " + std::to_string(place) + " of a memory of " + std::to_string(buffer.num_elements));
    }
    return place;
  }

  void CheckAlone(const Statement& statement, const RunBuffer& buffer, size_t place) const {
    if (buffer.stored_by.empty() || !MayRunAtTheSameTime(buffer.stored_by[place].get(), path_.get())) return;
    Fail(statement, "another round of a parallel loop stores element " + std::to_string(place));
  }

  Bits Load(const Statement& statement, size_t first) const {
    const RunBuffer& buffer = buffers_[statement.instruction.buffer];
    const auto place = static_cast<size_t>(PlaceOf(statement, buffer, first));
    if (!buffer.stored_in.empty() && buffer.stored_in[place] != round_) {
      Fail(statement, "element " + std::to_string(place) + " was not stored");
    }
    // What a local buffer holds is of the same round at the top.
    CheckAlone(statement, buffer, place);
    return ReadElement(buffer.memory + place * BytesOf(buffer.dtype), buffer.dtype);
  }

  void Store(const Statement& statement) {
    RunBuffer& buffer = buffers_[statement.instruction.buffer];
    const auto place = static_cast<size_t>(PlaceOf(statement, buffer, 1));
    const bool stored_before = buffer.stored_in.empty() || buffer.stored_in[place] == round_;
    if (stored_before) CheckAlone(statement, buffer, place);
    if (!buffer.stored_in.empty()) buffer.stored_in[place] = round_;
    buffer.stored_by[place] = path_;
    WriteElement(buffer.memory + place * BytesOf(buffer.dtype), buffer.dtype,
                 values_[statement.instruction.operands[0]]);
  }

  // ---- Statements ----

  void RunBody(const Body& body) {
    for (const Statement& statement : body) {
      Step(statement);
      if (statement.loop != nullptr) {
        RunLoop(statement, /*top=*/false);
      } else {
        RunInstruction(statement);
      }
    }
  }

  void RunInstruction(const Statement& statement) {
    const Instruction& instruction = statement.instruction;
    const std::vector<ValueId>& operands = instruction.operands;
    switch (instruction.opcode) {
      case Opcode::kConstant:
        values_[instruction.result] = BitsOfConstant(instruction);
        return;
      case Opcode::kLoad:
        values_[instruction.result] = Load(statement, 0);
        return;
      case Opcode::kLoadIf:
        values_[instruction.result] = values_[operands[0]] != 0 ? Load(statement, 1) : 0;
        return;
      case Opcode::kStore:
        Store(statement);
        return;
      case Opcode::kCast:
        values_[instruction.result] = Convert(values_[operands[0]], dtypes_[operands[0]], instruction.dtype);
        return;
      case Opcode::kBitcast:
        values_[instruction.result] = Reinterpret(values_[operands[0]], instruction.dtype);
        return;
      default: {
        Bits bits[3] = {};
        for (size_t i = 0; i < operands.size(); ++i) bits[i] = values_[operands[i]];
        values_[instruction.result] = Compute(instruction.opcode, dtypes_[operands.back()], bits[0], bits[1], bits[2]);
      }
    }
  }

  void RunLoop(const Statement& statement, bool top) {
    const Loop& loop = *statement.loop;
    const int64_t extent = IntegerAt(loop.extent);
    for (const Carried& carried : loop.carried) values_[carried.value] = values_[carried.initial];
    Accumulated accumulated = BeginAccumulators(loop);
    const bool parallel = loop.kind != LoopKind::kSequential;
    const bool backwards = options_.backwards && parallel;
    const RoundPath around = path_;
    const uint64_t loop_run = ++loop_runs_;
    for (int64_t i = 0; i < extent; ++i) {
      Step(statement);
      if (top) ++round_;
      const int64_t index = backwards ? extent - 1 - i : i;
      values_[loop.index] = static_cast<Bits>(index);
      if (parallel) path_ = RoundInside(around, loop_run, index);
      RunBody(loop.body);
      Accumulate(loop, /*first=*/i == 0, backwards, &accumulated);
      CarryOver(loop);
    }
    path_ = around;
    for (const Carried& carried : loop.carried) values_[carried.result] = values_[carried.value];
    for (size_t i = 0; i < loop.accumulators.size(); ++i) {
      values_[loop.accumulators[i].result] = accumulated.results[i];
    }
  }

  void CarryOver(const Loop& loop) {
    // All are read before one is written: a value may be handed on as another one.
    std::vector<Bits> next;
    for (const Carried& carried : loop.carried) next.push_back(values_[carried.next]);
    for (size_t i = 0; i < next.size(); ++i) values_[loop.carried[i].value] = next[i];
  }

  // ---- Accumulators ----

  struct Accumulated {
    std::vector<Bits> results;
    // Of an arg-reduction: the best element so far.
    std::vector<Bits> best;
  };

  Accumulated BeginAccumulators(const Loop& loop) const {
    Accumulated accumulated;
    for (const Accumulator& accumulator : loop.accumulators) {
      accumulated.results.push_back(IdentityOf(accumulator.reduction, dtypes_[accumulator.element]));
    }
    accumulated.best.resize(loop.accumulators.size());
    return accumulated;
  }

  void Accumulate(const Loop& loop, bool first, bool backwards, Accumulated* accumulated) const {
    for (size_t i = 0; i < loop.accumulators.size(); ++i) {
      const Reduction reduction = loop.accumulators[i].reduction;
      const Dtype dtype = dtypes_[loop.accumulators[i].element];
      const Bits element = values_[loop.accumulators[i].element];
      Bits& result = accumulated->results[i];
      if (!IsArgReduction(reduction)) {
        result = Compute(OpcodeOf(reduction), dtype, result, element, 0);
        continue;
      }
      Bits& best = accumulated->best[i];
      // Of equals the one with the smaller index wins, which comes later where rounds run backwards.
      const bool better =
          backwards ? !IsBetter(reduction, dtype, best, element) : IsBetter(reduction, dtype, element, best);
      if (!first && !better) continue;
      best = element;
      result = values_[loop.index];
    }
  }

  static Opcode OpcodeOf(Reduction reduction) {
    switch (reduction) {
      case Reduction::kSum:
        return Opcode::kAdd;
      case Reduction::kProduct:
        return Opcode::kMultiply;
      case Reduction::kMinimum:
        return Opcode::kMinimum;
      default:
        return Opcode::kMaximum;
    }
  }

  const Kernel& kernel_;
  const EvaluationOptions& options_;
  uint64_t steps_left_;
  std::vector<Dtype> dtypes_;
  std::vector<Bits> values_;
  std::vector<RunBuffer> buffers_;
  // Of the loops at the top, counted over the whole run.
  uint64_t round_ = 0;
  uint64_t loop_runs_ = 0;
  RoundPath path_;
};

}  // namespace

void Evaluate(const Kernel& kernel, std::span<const int64_t> symbols, std::span<const BufferMemory> buffers,
              const EvaluationOptions& options) {
  Evaluation(kernel, options).Run(symbols, buffers);
}

}  // namespace hearth::fuser
