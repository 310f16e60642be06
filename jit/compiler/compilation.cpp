#include "jit/compiler/compilation.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <utility>

#include "jit/ir/printer.h"
#include "jit/ir/verifier.h"
#include "jit/support/logging.h"
#include "jit/support/processor_time.h"

namespace hearth {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("compiler/compilation");
  return log;
}

// HEARTH_OPT_LIMIT=N lets the process run the first N passes only, to bisect a miscompile.
bool WithinOptLimit() {
  static const long kLimit = [] {
    const char* text = std::getenv("HEARTH_OPT_LIMIT");
    return text == nullptr ? std::numeric_limits<long>::max() : std::atol(text);
  }();
  static std::atomic<long> count{0};
  return kLimit == std::numeric_limits<long>::max() || count.fetch_add(1) < kLimit;
}

void Check(std::string_view step, const Graph& graph) {
  if (Log().should_log(spdlog::level::debug)) {
    Log().debug("after {} ({} nodes):\n{}", step, graph.num_nodes(), PrintGraph(graph));
  }
#ifndef NDEBUG
  Verify(graph);
#endif
}

}  // namespace

Compilation::Compilation(const Graph& source, CompilationInputs inputs) : inputs_(std::move(inputs)), source_(&source) {
  if (inputs_.weights == nullptr) return;
  weights_.emplace(*inputs_.weights, [this] { Rest(); });
}

Compilation::Compilation(std::unique_ptr<Graph> graph, CompilationInputs inputs)
    : Compilation(*graph, std::move(inputs)) {
  graph_ = std::move(graph);
}

Compilation::~Compilation() = default;

bool Compilation::Run(const Pass& pass) {
  current_ = pass.name;
  if (inputs_.begin) inputs_.begin(pass.name);
  if (!pass.required && !WithinOptLimit()) return false;
  const size_t nodes_before = source().num_nodes();
  const auto start = ProcessorTimeOfThread();
  const bool changed = pass.run(*this);
  report_.steps.push_back({pass.name, ProcessorTimeOfThread() - start, changed, nodes_before, source().num_nodes()});
  if (!changed) return false;
  Invalidate(pass.preserves);
  Check(pass.name, source());
  return true;
}

Graph& Compilation::graph() {
  if (graph_ == nullptr) Replace(source_->Clone());
  return *graph_;
}

void Compilation::Replace(std::unique_ptr<Graph> graph) {
  Invalidate({});
  sizes_.emplace();
  graph_ = std::move(graph);
}

std::unique_ptr<Graph> Compilation::TakeGraph() {
  graph();
  Invalidate({});
  return std::move(graph_);
}

// What rests on another analysis goes with it, and first.
void Compilation::Invalidate(AnalysisSet preserved) {
  const bool memory = preserved.Has(Analysis::kMemory);
  if (!memory || !preserved.Has(Analysis::kFacts)) facts_.reset();
  if (!memory || !preserved.Has(Analysis::kPureForks)) pure_forks_.reset();
  if (!memory || !preserved.Has(Analysis::kPureNodes)) pure_nodes_.reset();
  if (!memory) memory_.reset();
  if (!preserved.Has(Analysis::kAliases)) aliases_.reset();
  if (!preserved.Has(Analysis::kLiveness)) liveness_.reset();
}

const AliasClasses& Compilation::aliases() {
  if (aliases_ == nullptr) aliases_ = std::make_unique<const AliasClasses>(graph(), effects());
  return *aliases_;
}

const Liveness& Compilation::liveness() {
  if (liveness_ == nullptr) liveness_ = std::make_unique<const Liveness>(*source().block());
  return *liveness_;
}

const WrittenMemory& Compilation::memory() {
  if (memory_ == nullptr) memory_ = std::make_unique<const WrittenMemory>(graph(), effects(), inputs_.state_writes);
  return *memory_;
}

const PureNodes& Compilation::pure_nodes() {
  if (pure_nodes_ == nullptr) pure_nodes_ = std::make_unique<const PureNodes>(graph(), memory());
  return *pure_nodes_;
}

const PureForks& Compilation::pure_forks() {
  if (pure_forks_ == nullptr) pure_forks_ = std::make_unique<const PureForks>(graph(), memory());
  return *pure_forks_;
}

ValueFactTable& Compilation::facts() {
  if (facts_ == nullptr) {
    facts_ = std::make_unique<ValueFactTable>(NewFacts());
    facts_->InferAll();
  }
  return *facts_;
}

ValueFactTable Compilation::NewFacts() { return ValueFactTable(graph(), arguments(), memory(), *sizes_); }

}  // namespace hearth
