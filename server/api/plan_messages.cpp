#include "server/api/plan_messages.h"

#include <chrono>
#include <string>
#include <utility>

namespace hearth::server {
namespace {

v1::Plan::State StateOf(PlanInfo::State state) {
  switch (state) {
    case PlanInfo::State::kCold:
      return v1::Plan::COLD;
    case PlanInfo::State::kQueued:
      return v1::Plan::QUEUED;
    case PlanInfo::State::kCompiled:
      return v1::Plan::COMPILED;
    case PlanInfo::State::kFailed:
      return v1::Plan::FAILED;
    case PlanInfo::State::kDeoptimised:
      return v1::Plan::DEOPTIMISED;
  }
  return v1::Plan::COLD;
}

}  // namespace

v1::Compilation DescribeCompilation(CompilationInfo compilation) {
  v1::Compilation out;
  out.set_method(std::move(compilation.method));
  out.set_stage(std::move(compilation.stage));
  out.set_pass(std::move(compilation.pass));
  out.set_seconds(compilation.since_start.count());
  out.set_resting(compilation.resting);
  return out;
}

v1::ListPlansResponse DescribePlans(const Servable& servable, bool graphs) {
  v1::ListPlansResponse response;
  response.set_model(servable.name);
  response.set_version(std::to_string(servable.version));
  for (PlanInfo& plan : servable.model->plans(graphs)) {
    v1::Plan& out = *response.add_plans();
    out.set_method(std::move(plan.method));
    out.set_arguments(std::move(plan.arguments));
    out.set_state(StateOf(plan.state));
    out.set_calls(plan.calls);
    out.set_compile_seconds(std::chrono::duration<double>(plan.compile_time).count());
    out.set_bytes(plan.bytes);
    out.set_guards(plan.guards);
    out.set_bailouts(plan.bailouts);
    out.set_guard_failures(plan.guard_failures);
    out.set_model_exceptions(plan.model_exceptions);
    out.set_plan_exceptions(plan.plan_exceptions);
    out.set_recording(std::move(plan.recording));
    for (PlanException& exception : plan.exceptions) {
      v1::Plan::Exception& told = *out.add_exceptions();
      told.set_operator_(std::move(exception.op));
      told.set_node(std::move(exception.node));
      told.set_where(std::move(exception.where));
      told.set_text(std::move(exception.text));
      told.set_runs(exception.runs);
    }
    out.set_graph(std::move(plan.graph));
    for (PlanKernel& kernel : plan.kernels) {
      v1::Plan::Kernel& told = *out.add_kernels();
      for (std::string& results : kernel.results) told.add_results(std::move(results));
      told.set_code(std::move(kernel.code));
      told.set_bytes(kernel.bytes);
      told.set_set_aside(kernel.set_aside);
    }
    out.set_tier(plan.tier);
    out.set_sizes(std::move(plan.sizes));
    for (GuardedClaim& claim : plan.claims) {
      v1::Plan::Claim& told = *out.add_claims();
      told.set_text(std::move(claim.text));
      told.set_where(std::move(claim.where));
      told.set_failures(claim.failures);
    }
  }
  for (CompilationInfo& compilation : servable.model->compilations()) {
    *response.add_compiling() = DescribeCompilation(std::move(compilation));
  }
  return response;
}

}  // namespace hearth::server
