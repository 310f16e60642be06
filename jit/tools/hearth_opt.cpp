// hearth-opt: runs passes over a graph, given as text or as the source that it is emitted from, and prints what comes
// out; how passes are tested and looked at. With --run-kernel, runs a fused kernel and says whether its code is right.
#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "jit/analysis/effects.h"
#include "jit/analysis/state_accesses.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/frontend/source_importer.h"
#include "jit/fuser/runtime/fused_kernel.h"
#include "jit/fuser/runtime/kernel_source.h"
#include "jit/ir/printer.h"
#include "jit/ir/verifier.h"
#include "jit/passes/pass_table.h"
#include "jit/passes/pipelines.h"
#include "jit/support/errors.h"
#include "jit/tools/example_arguments.h"
#include "jit/tools/ir_file.h"
#include "jit/tools/kernel_check.h"

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
  std::string target;
  size_t node_budget = CompilationInputs().node_budget;
  std::vector<std::string> examples;
  bool exact = false;
  bool likely = false;
  std::vector<std::string> profile;
  bool run_kernel = false;
  uint64_t seed = 1;
};

std::string ReadText(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// Lists of passes that are named as one.
struct Pipeline {
  std::string_view name;
  void (*run)(Compilation&);
  std::string_view help;
};

constexpr Pipeline kPipelines[] = {
    {"baseline", BuildBaseline, "all that makes a baseline of an emitted graph"},
    {"plan", OptimizePlan, "all that optimises a plan, which frame_states begins"},
};

void RunPass(const std::string& name, Compilation& compilation) {
  for (const Pipeline& pipeline : kPipelines) {
    if (pipeline.name == name) return pipeline.run(compilation);
  }
  const Pass* pass = FindPass(name);
  if (pass == nullptr) throw std::runtime_error("no pass is named " + name);
  compilation.Run(*pass);
}

std::string PassHelp() {
  std::string help = "a pass to run; may be repeated:";
  const auto add = [&](std::string_view name, std::string_view line) {
    help += "\n  " + std::string(name) + std::string(name.size() < 22 ? 22 - name.size() : 1, ' ') + std::string(line);
  };
  for (const Pass& pass : kPasses) add(pass.name, pass.help);
  for (const Pipeline& pipeline : kPipelines) add(pipeline.name, pipeline.help);
  return help;
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
void PrintState(const CompilationInputs& inputs, const Graph& graph) {
  std::vector<std::unique_ptr<Graph>> methods;
  std::vector<const Graph*> graphs = {&graph};
  std::vector<std::string> names = {"graph"};
  for (torch::jit::Function* method : inputs.self->type()->methods()) {
    Compilation baseline(static_cast<Function*>(method)->emitted_graph(), inputs);
    BuildBaseline(baseline);
    methods.push_back(baseline.TakeGraph());
    graphs.push_back(methods.back().get());
    names.push_back(method->name());
  }
  const StateAccesses accesses(graphs, *inputs.self, *inputs.effects);
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

// Has code for every kernel, none of which can be run: what is fused is to be looked at.
class UnmadeKernels : public fuser::KernelSource {
 public:
  explicit UnmadeKernels(c10::DeviceType device) : device_(device) {}

  c10::DeviceType device() const override { return device_; }
  std::shared_ptr<const fuser::KernelCode> Get(const std::string& text, const std::function<void()>& rest) override {
    return std::make_shared<fuser::KernelCode>();
  }
  std::optional<std::shared_ptr<const fuser::KernelCode>> Find(const std::string& text) override {
    return std::make_shared<fuser::KernelCode>();
  }

 private:
  const c10::DeviceType device_;
};

// The kernels of the graph, each below what it gives.
void PrintKernels(const Block& block) {
  for (const Node* node : block) {
    for (const Block* inner : node->blocks()) PrintKernels(*inner);
    const c10::IValue* constant = node->inputs().empty() ? nullptr : ConstantOf(*node->input(0));
    const fuser::FusedKernel* kernel = constant == nullptr ? nullptr : fuser::FusedKernel::Unwrap(*constant);
    if (kernel == nullptr) continue;
    std::cout << "\n";
    for (const Value* output : node->outputs()) std::cout << "%" << output->name() << " ";
    std::cout << "=\n" << kernel->text();
  }
}

// Beside this program.
std::string CodegenProgram() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hearth-codegen";
}

// Whether the kernel's code does what it should.
bool RunKernel(const Arguments& arguments) {
  constexpr int kRuns = 20;
  const KernelCheck check = CheckKernel(ReadText(arguments.file), CodegenProgram(), arguments.seed, kRuns);
  std::cout << check.report;
  return check.agrees;
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
  DerivedConstantTable weights;
  CompilationInputs inputs;
  inputs.target.Set(arguments.target);
  inputs.effects = &effects;
  inputs.node_budget = arguments.node_budget;
  inputs.weights = &weights;
  const c10::Device device(arguments.device.empty() ? "cpu" : arguments.device);
  UnmadeKernels kernels(device.type());
  inputs.kernels = &kernels;
  if (arguments.bind_self) inputs.self = self;
  inputs.arguments = FactsOfExamples(arguments.examples, self,
                                     arguments.exact    ? ExampleSizes::kExact
                                     : arguments.likely ? ExampleSizes::kLikely
                                                        : ExampleSizes::kAny);
  if (!arguments.device.empty()) {
    inputs.literal_device = device;
    for (ArgumentFacts& facts : inputs.arguments) facts.tensor.device = device;
  }

  Verify(*emitted);
  Compilation compilation(*emitted, inputs);
  for (const std::string& pass : arguments.passes) {
    const ExampleProfile profile(arguments.profile, compilation.source());
    compilation.SetClaims(profile.claims());
    RunPass(pass, compilation);
    Verify(compilation.source());
  }
  const Graph* graph = &compilation.source();
  if (arguments.effects) {
    PrintEffects(effects, *graph);
  } else if (arguments.state) {
    PrintState(inputs, *graph);
  } else {
    std::cout << PrintGraph(*graph, {.ranges = arguments.ranges, .constants = nullptr});
    PrintKernels(*graph->block());
  }
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  hearth::Arguments arguments;
  CLI::App app{"Runs passes over a graph. The graph is verified before, between and after."};
  app.add_option("file", arguments.file, "the graph as text, - for standard input, or a file of TorchScript (.py)");
  app.add_option("--function", arguments.function, "which function of the file of TorchScript, if it has several");
  app.add_option("--pass", arguments.passes, hearth::PassHelp())->allow_extra_args(false);
  auto* bind_self = app.add_flag("--bind-self", arguments.bind_self, "bind the first input to an object of its class");
  app.add_option("--device", arguments.device, "redirect literal devices, and have the arguments' tensors there");
  app.add_option("--target", arguments.target,
                 "what code is for, where that is not this machine: " + hearth::Target::Host().ToString());
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
               "print which parts of the state the graph and the methods of its class touch, and not the graph")
      ->needs(bind_self);
  app.add_flag("--run-kernel", arguments.run_kernel,
               "the file is a fused kernel, as hearthd leaves it in `reproducers` of its --cache-dir: compare what its "
               "machine code and the evaluator make of random inputs; the status is 1 if they differ");
  app.add_option("--seed", arguments.seed, "other random inputs for --run-kernel");
  app.add_flag("--effects", arguments.effects, "print what a run does beside computing, and not the graph");
  CLI11_PARSE(app, argc, argv);
  try {
    if (arguments.run_kernel) return hearth::RunKernel(arguments) ? 0 : 1;
    hearth::Main(arguments);
  } catch (const std::exception& error) {
    std::cerr << "hearth-opt: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
