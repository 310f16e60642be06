// hearth-opt: runs passes over a graph, given as text or as the source that it is emitted from, and prints what comes
// out; how passes are tested and looked at.
#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <iterator>

#include "jit/analysis/effects.h"
#include "jit/analysis/state_accesses.h"
#include "jit/frontend/source_importer.h"
#include "jit/ir/printer.h"
#include "jit/ir/verifier.h"
#include "jit/passes/autocast.h"
#include "jit/passes/build_lists.h"
#include "jit/passes/canonical_order.h"
#include "jit/passes/common_subexpressions.h"
#include "jit/passes/constant_lists.h"
#include "jit/passes/dead_code.h"
#include "jit/passes/decompose_einsum.h"
#include "jit/passes/derived_constants.h"
#include "jit/passes/early_guards.h"
#include "jit/passes/fold_batch_norms.h"
#include "jit/passes/fold_constant_tensors.h"
#include "jit/passes/fold_facts.h"
#include "jit/passes/frame_states.h"
#include "jit/passes/group_linears.h"
#include "jit/passes/hoist_invariants.h"
#include "jit/passes/implied_conditions.h"
#include "jit/passes/make_linears.h"
#include "jit/passes/move_forks.h"
#include "jit/passes/observe.h"
#include "jit/passes/pack_convolutions.h"
#include "jit/passes/pack_linears.h"
#include "jit/passes/peel_loops.h"
#include "jit/passes/pipelines.h"
#include "jit/passes/plan_memory.h"
#include "jit/passes/private_state.h"
#include "jit/passes/private_writes.h"
#include "jit/passes/scalar_tensors.h"
#include "jit/passes/simplify_views.h"
#include "jit/passes/sink.h"
#include "jit/passes/specialize.h"
#include "jit/passes/specialize_profile.h"
#include "jit/passes/split_tuples.h"
#include "jit/passes/unroll_loops.h"
#include "jit/support/errors.h"
#include "jit/tools/example_arguments.h"
#include "jit/tools/ir_file.h"

namespace hearth {
namespace {

struct Arguments {
  std::string file = "-";
  std::string function;
  std::vector<std::string> passes;
  bool bind_self = false;
  bool ranges = false;
  bool effects = false;
  bool state = false;
  std::string device;
  size_t node_budget = BaselineOptions().node_budget;
  std::vector<std::string> examples;
  bool exact = false;
  bool likely = false;
  std::vector<std::string> profile;
};

std::string ReadText(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::unique_ptr<Graph> RunPass(const std::string& name, std::unique_ptr<Graph> graph, const BaselineOptions& options,
                               std::span<const ArgumentFacts> arguments, std::span<const std::string> profile) {
  if (name == "specialize") return Specialize(*graph, options).graph;
  if (name == "baseline") return BuildBaseline(*graph, options);
  if (name == "frame_states") return CloneWithFrameStates(*graph, FindAnchors(*graph));
  if (name == "plan") {
    DerivedConstantTable table;
    const ExampleProfile seen(profile, *graph);
    OptimizePlan(*graph, {arguments, options.effects, &table, &seen.claims()});
  } else if (name == "specialize_profile") {
    const ExampleProfile seen(profile, *graph);
    SpecializeProfile(*graph, arguments, options.effects, seen.claims(), nullptr);
  } else if (name == "observe") {
    return CloneWithObservers(*graph, FindProfileSites(*graph));
  } else if (name == "fold_facts") {
    FoldFacts(*graph, arguments, options.effects);
  } else if (name == "simplify_views") {
    SimplifyViews(*graph, arguments, options.effects);
  } else if (name == "common_subexpressions") {
    EliminateCommonSubexpressions(*graph, options.effects);
  } else if (name == "fold_constant_tensors") {
    DerivedConstantTable table;
    DerivedConstants derived(table);
    FoldConstantTensors(*graph, options.effects, derived);
  } else if (name == "fold_batch_norms") {
    DerivedConstantTable table;
    DerivedConstants derived(table);
    FoldBatchNorms(*graph, arguments, options.effects, derived);
  } else if (name == "pack_convolutions") {
    DerivedConstantTable table;
    DerivedConstants derived(table);
    PackConvolutions(*graph, arguments, options.effects, derived);
  } else if (name == "make_linears") {
    DerivedConstantTable table;
    DerivedConstants derived(table);
    MakeLinears(*graph, arguments, options.effects, derived);
  } else if (name == "group_linears") {
    DerivedConstantTable table;
    DerivedConstants derived(table);
    GroupLinears(*graph, options.effects, derived);
  } else if (name == "pack_linears") {
    DerivedConstantTable table;
    DerivedConstants derived(table);
    PackLinears(*graph, arguments, options.effects, derived);
  } else if (name == "plan_memory") {
    PlanMemory(*graph, arguments, options.effects);
  } else if (name == "dead_code") {
    EliminateDeadCode(*graph, options.effects);
  } else if (name == "dead_plan_code") {
    EliminateDeadPlanCode(*graph, options.effects);
  } else if (name == "constant_lists") {
    MakeConstantLists(*graph, options.effects);
  } else if (name == "autocast") {
    InsertAutocasts(*graph);
  } else if (name == "scalar_tensors") {
    ForwardScalarTensors(*graph, options.effects);
  } else if (name == "private_state") {
    Graph* only = graph.get();
    MakeStatePrivate(std::span(&only, 1), *options.self, *options.effects);
  } else if (name == "sink") {
    SinkIntoBranches(*graph, options.effects);
  } else if (name == "build_lists") {
    BuildLists(*graph);
  } else if (name == "split_tuples") {
    SplitTuples(*graph);
  } else if (name == "unroll_loops") {
    UnrollLoops(*graph);
  } else if (name == "private_writes") {
    ForgetPrivateWrites(*graph, options.effects);
  } else if (name == "decompose_einsum") {
    DecomposeEinsum(*graph, arguments, options.effects);
  } else if (name == "peel_loops") {
    PeelLoops(*graph);
  } else if (name == "canonical_order") {
    OrderOperands(*graph);
  } else if (name == "implied_conditions") {
    SettleImpliedConditions(*graph);
  } else if (name == "early_guards") {
    MoveGuardsUp(*graph, options.effects);
  } else if (name == "move_forks") {
    MoveForks(*graph, options.effects);
  } else if (name == "hoist_invariants") {
    HoistInvariants(*graph, options.effects);
  } else {
    throw std::runtime_error("no pass is named " + name);
  }
  return graph;
}

void PrintEffects(const UnitEffects& effects, const Graph& graph) {
  const FunctionEffects of = effects.Of(graph);
  std::cout << "writes state: " << effects.WritesState(graph)
            << "\nwrites arguments: " << effects.WritesArguments(graph) << "\nrandom: " << of.random
            << "\nacts: " << of.acts << "\n";
}

std::ostream& operator<<(std::ostream& out, const StateAccess& access) {
  for (const size_t part : access.Touched()) {
    if (access.reads.Has(part)) out << " reads " << part;
    if (access.writes.Has(part)) out << " writes " << part;
  }
  return out;
}

// What the graph and the methods of its self's class do to the state that they share.
void PrintState(const BaselineOptions& options, const Graph& graph) {
  std::vector<std::unique_ptr<Graph>> methods;
  std::vector<const Graph*> graphs = {&graph};
  std::vector<std::string> names = {"graph"};
  for (torch::jit::Function* method : options.self->type()->methods()) {
    methods.push_back(BuildBaseline(static_cast<Function*>(method)->emitted_graph(), options));
    graphs.push_back(methods.back().get());
    names.push_back(method->name());
  }
  const StateAccesses accesses(graphs, *options.self, *options.effects);
  for (size_t i = 0; i < graphs.size(); ++i) {
    std::cout << names[i] << "\n";
    for (const MethodState::Touch& touch : accesses.methods()[i].touches) {
      std::cout << "  " << touch.node->kind().toQualString() << touch.access << "\n";
    }
    if (!accesses.methods()[i].to_the_end.empty())
      std::cout << "  to the end" << accesses.methods()[i].to_the_end << "\n";
  }
}

// A function of a file of TorchScript as people write it: the one that is named, or the only one.
const Graph& EmittedGraph(const std::shared_ptr<CompilationUnit>& unit, std::shared_ptr<const Source> source,
                          const std::string& name) {
  SourceImporter importer(unit, std::move(source));
  std::vector<Function*> functions = importer.LoadFunctions();
  importer.DefineAll();
  if (!name.empty()) std::erase_if(functions, [&](Function* function) { return function->name() != name; });
  if (functions.size() != 1) {
    throw std::runtime_error(name.empty() ? "the file defines " + std::to_string(functions.size()) +
                                                " functions, and not one: --function says which"
                                          : "the file defines no function '" + name + "'");
  }
  return functions.front()->emitted_graph();
}

void Main(const Arguments& arguments) {
  const auto source = std::make_shared<const Source>(ReadText(arguments.file), arguments.file);
  std::optional<IrFile> file;
  std::shared_ptr<CompilationUnit> written;
  const Graph* emitted = nullptr;
  if (arguments.file.ends_with(".py")) {
    written = CompilationUnit::Create();
    emitted = &EmittedGraph(written, source, arguments.function);
  } else {
    file.emplace(source);
    emitted = &file->graph();
  }
  const c10::intrusive_ptr<c10::ivalue::Object> self = file ? file->MakeSelf() : nullptr;
  const UnitEffects effects(file ? file->unit() : *written);
  BaselineOptions options;
  options.effects = &effects;
  options.node_budget = arguments.node_budget;
  if (arguments.bind_self) options.self = self;
  if (!arguments.device.empty()) options.device = c10::Device(arguments.device);

  Verify(*emitted);
  std::unique_ptr<Graph> graph = emitted->Clone();
  const std::vector<ArgumentFacts> facts = FactsOfExamples(arguments.examples, self,
                                                           arguments.exact    ? ExampleSizes::kExact
                                                           : arguments.likely ? ExampleSizes::kLikely
                                                                              : ExampleSizes::kAny);
  for (const std::string& pass : arguments.passes) {
    graph = RunPass(pass, std::move(graph), options, facts, arguments.profile);
    Verify(*graph);
  }
  if (arguments.effects) {
    PrintEffects(effects, *graph);
  } else if (arguments.state) {
    PrintState(options, *graph);
  } else {
    std::cout << PrintGraph(*graph, {.ranges = arguments.ranges, .constants = nullptr});
  }
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  hearth::Arguments arguments;
  CLI::App app{"Runs passes over a graph. The graph is verified before, between and after."};
  app.add_option("file", arguments.file, "the graph as text, - for standard input, or a file of TorchScript (.py)");
  app.add_option("--function", arguments.function, "which function of the file of TorchScript, if it has several");
  app.add_option(
         "--pass", arguments.passes,
         "specialize, autocast, scalar_tensors, dead_code, constant_lists, sink, private_state, baseline, "
         "frame_states, observe, fold_facts, specialize_profile, common_subexpressions, fold_constant_tensors, "
         "fold_batch_norms, unroll_loops, private_writes, build_lists, split_tuples, hoist_invariants, peel_loops, "
         "decompose_einsum, canonical_order, implied_conditions, early_guards, move_forks, simplify_views, "
         "pack_convolutions, make_linears, group_linears, pack_linears, plan_memory, dead_plan_code or plan; may be "
         "repeated")
      ->allow_extra_args(false);
  app.add_flag("--bind-self", arguments.bind_self, "bind the first input to an object of its class");
  app.add_option("--device", arguments.device, "redirect literal devices");
  app.add_option("--node-budget", arguments.node_budget, "inline while the graph has fewer nodes");
  app.add_option("--argument", arguments.examples,
                 "an argument like those that the graph is optimised for: Float[2, 3], None, int, self; one for each "
                 "input, in order")
      ->allow_extra_args(false);
  app.add_flag("--exact", arguments.exact, "optimised for exactly the sizes of these arguments, and no others");
  app.add_flag("--likely", arguments.likely, "optimised for any sizes, where the sizes of these arguments are likely");
  app.add_option("--profile", arguments.profile,
                 "what a value was in how many runs: NAME=True*9, NAME=3*20, NAME=Float[2, 3]*10; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--ranges", arguments.ranges, "print source positions");
  app.add_flag("--state", arguments.state,
               "print which parts of the state the graph and the methods of its class touch, and not the graph");
  app.add_flag("--effects", arguments.effects, "print what a run does beside computing, and not the graph");
  CLI11_PARSE(app, argc, argv);
  try {
    hearth::Main(arguments);
  } catch (const std::exception& error) {
    std::cerr << "hearth-opt: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
