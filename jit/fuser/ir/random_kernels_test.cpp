#include "jit/fuser/ir/random_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/scalar_math.h"
#include "jit/fuser/ir/verifier.h"

namespace hearth::fuser {
namespace {

constexpr uint64_t kNumCases = 1500;

// What statements there are, by opcode and dtype, and by loop kind.
struct Seen {
  std::set<std::pair<Opcode, Dtype>> operations;
  std::set<LoopKind> loops;
  std::set<Reduction> reductions;
  int carried = 0;

  void Add(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) {
        operations.emplace(statement.instruction.opcode, statement.instruction.dtype);
        continue;
      }
      loops.insert(statement.loop->kind);
      for (const Accumulator& accumulator : statement.loop->accumulators) reductions.insert(accumulator.reduction);
      carried += static_cast<int>(statement.loop->carried.size());
      Add(statement.loop->body);
    }
  }
};

bool SameElement(Bits a, Bits b, Dtype dtype) {
  return a == b || (IsFloating(dtype) && std::isnan(DoubleOf(a, dtype)) && std::isnan(DoubleOf(b, dtype)));
}

void ExpectSame(const Kernel& kernel, const std::vector<RandomBuffer>& a, const std::vector<RandomBuffer>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const Dtype dtype = kernel.buffers[i].dtype;
    for (size_t at = 0; at < a[i].memory.size(); at += BytesOf(dtype)) {
      const Bits first = ReadElement(a[i].memory.data() + at, dtype);
      const Bits second = ReadElement(b[i].memory.data() + at, dtype);
      ASSERT_TRUE(SameElement(first, second, dtype))
          << "@" << i << " byte " << at << ": " << DoubleOf(first, dtype) << " and " << DoubleOf(second, dtype);
    }
  }
}

TEST(RandomKernelsTest, KernelsAreWellFormedAndReadBack) {
  for (uint64_t seed = 0; seed < kNumCases; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCase made = MakeRandomCase(seed);
    ASSERT_NO_THROW(Verify(made.kernel));
    const std::string text = Print(made.kernel);
    const Kernel read = Parse(text);
    ASSERT_TRUE(Equal(read, made.kernel)) << text;
    ASSERT_EQ(Print(read), text);
  }
}

// Parallel rounds in another order give the same, so no round reads what another one writes and no sum is rounded.
TEST(RandomKernelsTest, TheOrderOfRoundsDoesNotMatter) {
  int changed = 0;
  for (uint64_t seed = 0; seed < kNumCases; ++seed) {
    SCOPED_TRACE(seed);
    RandomCase made = MakeRandomCase(seed);
    std::vector<RandomBuffer> forwards = made.buffers;
    std::vector<RandomBuffer> backwards = made.buffers;
    Evaluate(made.kernel, made.symbols, MemoryOf(forwards));
    Evaluate(made.kernel, made.symbols, MemoryOf(backwards), {.backwards = true});
    ExpectSame(made.kernel, forwards, backwards);
    if (HasFatalFailure()) FAIL() << Print(made.kernel);
    for (size_t i = 0; i < made.buffers.size(); ++i) {
      const bool same = forwards[i].memory == made.buffers[i].memory;
      if (made.kernel.buffers[i].kind == BufferKind::kInput) {
        EXPECT_TRUE(same) << "an input was written";
      } else if (!same) {
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, static_cast<int>(kNumCases));
}

TEST(RandomKernelsTest, EverythingThatTheIrHasIsMade) {
  Seen seen;
  for (uint64_t seed = 0; seed < kNumCases; ++seed) {
    const RandomCase made = MakeRandomCase(seed);
    seen.Add(made.kernel.prologue);
    seen.Add(made.kernel.body);
  }
  EXPECT_EQ(seen.loops.size(), 3u);
  EXPECT_EQ(seen.reductions.size(), kNumReductions);
  EXPECT_GT(seen.carried, 0);
  for (size_t i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    for (size_t j = 0; j < kNumDtypes; ++j) {
      const auto dtype = static_cast<Dtype>(j);
      if (!Takes(InfoOf(opcode).operands, dtype) || (opcode == Opcode::kBitcast && dtype == Dtype::kBool)) continue;
      const Dtype result = IsComparison(opcode) ? Dtype::kBool : dtype;
      EXPECT_TRUE(seen.operations.contains({opcode, result})) << InfoOf(opcode).name << " of " << NameOf(dtype);
    }
  }
}

TEST(RandomKernelsTest, TheSameSeedGivesTheSameCase) {
  const RandomCase a = MakeRandomCase(7);
  const RandomCase b = MakeRandomCase(7);
  EXPECT_TRUE(Equal(a.kernel, b.kernel));
  EXPECT_EQ(a.symbols, b.symbols);
  EXPECT_FALSE(Equal(a.kernel, MakeRandomCase(8).kernel));
}

TEST(RandomKernelsTest, OptionsLeaveOutWhatABackEndCannotDo) {
  Seen seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomCase made = MakeRandomCase(
        seed, {.functions = false, .sequential_loops = false, .local_buffers = false, .reduced_dtypes = false});
    seen.Add(made.kernel.body);
    for (const Buffer& buffer : made.kernel.buffers) EXPECT_NE(buffer.kind, BufferKind::kLocal);
    for (const RandomBuffer& buffer : made.buffers) EXPECT_FALSE(buffer.approximate);
  }
  EXPECT_FALSE(seen.loops.contains(LoopKind::kSequential));
  for (const auto& [opcode, dtype] : seen.operations) {
    EXPECT_LT(opcode, Opcode::kExp);
    EXPECT_FALSE(IsReduced(dtype));
  }
}

}  // namespace
}  // namespace hearth::fuser
