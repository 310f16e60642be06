#include "jit/tools/kernel_check.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "jit/fuser/image/executable_memory.h"
#include "jit/fuser/ir/evaluator.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/scalar_math.h"
#include "jit/fuser/ir/verifier.h"
#include "jit/fuser/runtime/codegen_process.h"

namespace hearth {
namespace {

using namespace fuser;

constexpr std::chrono::seconds kPatience{60};
// Of one buffer. Symbols are small, but a size may be a product of them.
constexpr int64_t kMostElements = int64_t{1} << 20;

struct Memory {
  std::vector<std::byte> bytes;
  int64_t origin = 0;
};

// The values of the prologue, by their numbers.
std::vector<Bits> ValuesOf(const Kernel& kernel, const std::vector<int64_t>& symbols) {
  const std::vector<Dtype> dtypes = DtypesOf(kernel);
  std::vector<Bits> values(kernel.num_values);
  for (size_t i = 0; i < symbols.size(); ++i) values[i] = static_cast<Bits>(symbols[i]);
  for (const Statement& statement : kernel.prologue) {
    const Instruction& instruction = statement.instruction;
    const auto operand = [&](size_t i) {
      return i < instruction.operands.size() ? values[instruction.operands[i]] : Bits{0};
    };
    Bits& result = values[instruction.result];
    if (instruction.opcode == Opcode::kConstant) {
      result = BitsOfConstant(instruction);
    } else if (instruction.opcode == Opcode::kCast) {
      result = Convert(operand(0), dtypes[instruction.operands[0]], instruction.dtype);
    } else if (instruction.opcode == Opcode::kBitcast) {
      result = Reinterpret(operand(0), instruction.dtype);
    } else {
      result = Compute(instruction.opcode, dtypes[instruction.operands.back()], operand(0), operand(1), operand(2));
    }
  }
  return values;
}

Memory MemoryOf(const Buffer& buffer, const std::vector<Bits>& values) {
  Memory memory;
  int64_t elements = 1;
  for (size_t i = 0; i < buffer.sizes.size(); ++i) {
    const auto size = static_cast<int64_t>(values[buffer.sizes[i]]);
    const auto stride = static_cast<int64_t>(values[buffer.strides[i]]);
    if (size <= 0) return {};
    const int64_t distance = (size - 1) * std::abs(stride);
    elements += distance;
    if (stride < 0) memory.origin += distance;
    if (elements > kMostElements) throw EvaluationError("a buffer is larger than is tried here");
  }
  memory.bytes.resize(static_cast<size_t>(elements) * BytesOf(buffer.dtype));
  return memory;
}

// What two right orders of evaluating the same kernel may differ by.
double ToleranceOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return 1e-9;
    case Dtype::kFloat32:
      return 1e-4;
    case Dtype::kFloat16:
      return 2e-2;
    case Dtype::kBFloat16:
      return 5e-2;
    default:
      return 0;
  }
}

bool Agree(double expected, double got, double tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  return expected == got || std::abs(expected - got) <= tolerance * std::max(1.0, std::abs(expected));
}

class Run {
 public:
  Run(const Kernel& kernel, std::mt19937_64& random) : kernel_(kernel), random_(random) {
    for (const Dtype dtype : kernel.symbols) {
      symbols_.push_back(dtype == Dtype::kFloat64 ? std::bit_cast<int64_t>(Real()) : Below(20));
    }
    const std::vector<Bits> values = ValuesOf(kernel, symbols_);
    for (const Buffer& buffer : kernel.buffers) {
      if (buffer.kind == BufferKind::kLocal) continue;
      Memory memory = MemoryOf(buffer, values);
      for (size_t at = 0; at < memory.bytes.size(); at += BytesOf(buffer.dtype)) {
        WriteElement(memory.bytes.data() + at, buffer.dtype, Element(buffer.dtype));
      }
      buffers_.push_back(std::move(memory));
    }
  }

  std::string Sizes() const {
    std::ostringstream text;
    text << "symbols";
    for (size_t i = 0; i < symbols_.size(); ++i) {
      text << " ";
      if (kernel_.symbols[i] == Dtype::kFloat64) {
        text << std::bit_cast<double>(symbols_[i]);
      } else {
        text << symbols_[i];
      }
    }
    return text.str();
  }

  // Where the code's results differ from the evaluator's; empty if they do not.
  std::string Compare(const ExecutableMemory& code) {
    std::vector<Memory> expected = buffers_, got = buffers_;
    std::vector<BufferMemory> memory;
    for (Memory& one : expected) memory.push_back({one.bytes, one.origin});
    Evaluate(kernel_, symbols_, memory);
    Execute(code, got);
    for (size_t i = kernel_.num_inputs(); i < got.size(); ++i) {
      const Dtype dtype = kernel_.buffers[i].dtype;
      for (size_t at = 0; at < got[i].bytes.size(); at += BytesOf(dtype)) {
        const double a = DoubleOf(ReadElement(expected[i].bytes.data() + at, dtype), dtype);
        const double b = DoubleOf(ReadElement(got[i].bytes.data() + at, dtype), dtype);
        if (Agree(a, b, ToleranceOf(dtype))) continue;
        std::ostringstream text;
        text << "element " << at / BytesOf(dtype) << " of @" << i << " is " << b << ", expected " << a;
        return text.str();
      }
    }
    return "";
  }

 private:
  void Execute(const ExecutableMemory& code, std::vector<Memory>& memory) const {
    std::vector<void*> buffers;
    for (size_t i = 0; i < memory.size(); ++i) {
      buffers.push_back(memory[i].bytes.data() +
                        static_cast<size_t>(memory[i].origin) * BytesOf(kernel_.buffers[i].dtype));
    }
    std::vector<int64_t> sizes(code.num_loops() * kSizesPerLoop);
    code.sizes()(symbols_.data(), sizes.data());
    for (size_t loop = 0; loop < code.num_loops(); ++loop) {
      const int64_t* of_loop = &sizes[loop * kSizesPerLoop];
      const auto scratch_bytes =
          (static_cast<size_t>(of_loop[2]) + kBlockAlignment) / kBlockAlignment * kBlockAlignment;
      const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(kBlockAlignment, scratch_bytes),
                                                                &std::free);
      code.loop(loop)(buffers.data(), symbols_.data(), 0, of_loop[0], scratch.get());
    }
  }

  int64_t Below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }
  // Numbers of every size, some of which are no numbers.
  double Real() {
    constexpr double kSpecial[] = {0.0, -0.0, 1.0, INFINITY, -INFINITY, NAN};
    if (Below(40) == 0) return kSpecial[Below(std::size(kSpecial))];
    return std::normal_distribution<double>(0, Below(8) == 0 ? 30 : 2)(random_);
  }
  Bits Element(Dtype dtype) {
    if (IsFloating(dtype)) return BitsOf(Real(), dtype);
    return Wrap(static_cast<Bits>(Below(10)), dtype);
  }

  const Kernel& kernel_;
  std::mt19937_64& random_;
  std::vector<int64_t> symbols_;
  std::vector<Memory> buffers_;
};

std::string ImageOf(const std::string& kernel, const std::string& helper) {
  CodegenProcess process(helper);
  process.Ask({kernel, kNativeTarget}, kPatience);
  while (!process.HasAnswer()) {
  }
  CodegenAnswer answer = process.TakeAnswer();
  if (!answer.ok) throw std::runtime_error(answer.bytes);
  return std::move(answer.bytes);
}

}  // namespace

KernelCheck CheckKernel(std::string_view text, const std::string& helper, uint64_t seed, int runs) {
  const Kernel kernel = Parse(text);
  Verify(kernel);
  KernelCheck check{.agrees = true, .report = ""};
  std::optional<ExecutableMemory> code;
  try {
    code.emplace(ParseKernelImage(ImageOf(Print(kernel), helper)));
  } catch (const std::exception& error) {
    return {.agrees = false, .report = std::string("there is no code for it: ") + error.what() + "\n"};
  }
  std::mt19937_64 random(seed);
  for (int i = 0; i < runs; ++i) {
    Run run(kernel, random);
    std::string difference;
    try {
      difference = run.Compare(*code);
    } catch (const EvaluationError& error) {
      check.report += run.Sizes() + ": not run, " + error.what() + "\n";
      continue;
    }
    check.report += run.Sizes() + ": " + (difference.empty() ? "agrees" : difference) + "\n";
    check.agrees &= difference.empty();
  }
  return check;
}

}  // namespace hearth
