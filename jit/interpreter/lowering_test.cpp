// Random programs of nested branches and loops, run as Code and by walking the Graph with a table of values: whatever
// registers were chosen, the answers agree and nothing is left alive.
#include "jit/interpreter/lowering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/random_graphs.h"
#include "jit/ir/printer.h"
#include "jit/ir/verifier.h"

namespace hearth {
namespace {

using c10::IValue;

TEST(LoweringTest, RandomProgramsGiveWhatTheirGraphMeans) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const std::unique_ptr<Graph> graph = GraphGenerator(seed, false).Generate();
    ASSERT_NO_THROW(Verify(*graph)) << PrintGraph(*graph);
    const auto code = CompileCode(*graph, "f");
    for (const bool flag : {false, true}) {
      const std::vector<IValue> arguments = {2, -5, "ab", "xyz", flag, c10::List<std::string>()};
      const IValue expected = GraphWalker().Walk(*graph, arguments)[0];
      RunOptions options;
      options.token = std::make_shared<CancellationToken>();
      options.token->SetDeadline(std::chrono::steady_clock::now() + std::chrono::seconds(20));
      IValue actual;
      ASSERT_NO_THROW(actual = hearth::Run(*code, arguments, options)) << "seed " << seed << "\n"
                                                                       << PrintGraph(*graph) << DumpCode(*code);
      ASSERT_EQ(actual, expected) << "seed " << seed << "\n" << PrintGraph(*graph) << DumpCode(*code);
      // One reference is the argument list's own.
      for (const IValue& argument : arguments) {
        if (argument.isString()) {
          const size_t in_result = static_cast<size_t>(
              std::count_if(actual.toTupleRef().elements().begin(), actual.toTupleRef().elements().end(),
                            [&](const IValue& element) { return element.is(argument); }) +
              std::count_if(expected.toTupleRef().elements().begin(), expected.toTupleRef().elements().end(),
                            [&](const IValue& element) { return element.is(argument); }));
          ASSERT_EQ(argument.use_count(), 1 + in_result) << "seed " << seed << "\n" << DumpCode(*code);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
