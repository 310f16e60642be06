#include "jit/fuser/llvm/generate.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <numeric>

#include "jit/fuser/ir/compaction.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/ir/rewriting.h"
#include "jit/fuser/llvm/arg_reductions.h"
#include "jit/fuser/llvm/interchange.h"
#include "jit/fuser/llvm/kernel_emitter.h"
#include "jit/fuser/llvm/object_linker.h"

namespace hearth::fuser {
namespace {

// LLVM warns of loops that it was asked to vectorise and cannot. That is no fault of the kernel's.
class SilentDiagnostics : public llvm::DiagnosticHandler {
 public:
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override { return info.getSeverity() != llvm::DS_Error; }
};

// One kernel on its way.
class Compilation {
 public:
  using Emit = void(const Kernel&, const HostTarget&, llvm::Module&);
  Compilation(const Kernel& kernel, const HostTarget& target, Emit& emit = EmitKernel)
      : machine_(target.MakeMachine()), module_("kernel", llvm_) {
    llvm_.setDiagnosticHandler(std::make_unique<SilentDiagnostics>());
    module_.setDataLayout(machine_->createDataLayout());
    module_.setTargetTriple(machine_->getTargetTriple().str());
    module_.setPICLevel(llvm::PICLevel::SmallPIC);
    emit(kernel, target, module_);
    SetAttributes(target);
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module_, &stream)) throw std::logic_error("the kernel's LLVM IR is not sound: " + problem);
  }

  void Optimise() {
    llvm::PipelineTuningOptions tuning;
    tuning.SLPVectorization = true;
    llvm::PassBuilder builder(machine_.get(), tuning);
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager call_graphs;
    llvm::ModuleAnalysisManager modules;
    // No function of a library exists, so no loop becomes a call of one.
    llvm::TargetLibraryInfoImpl library(machine_->getTargetTriple());
    library.disableAllFunctions();
    functions.registerPass([&library] { return llvm::TargetLibraryAnalysis(library); });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(call_graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, call_graphs, modules);
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module_, modules);
  }

  std::string Assemble(llvm::CodeGenFileType type) {
    llvm::SmallVector<char, 0> output;
    llvm::raw_svector_ostream stream(output);
    llvm::legacy::PassManager passes;
    if (machine_->addPassesToEmitFile(passes, stream, nullptr, type)) {
      throw std::logic_error("no code for " + module_.getTargetTriple());
    }
    passes.run(module_);
    return {output.begin(), output.end()};
  }

  // The image of `kernel`, with `sizes` and that many loops.
  KernelImage Finish(const Kernel& kernel, const HostTarget& target, size_t num_loops) {
    Optimise();
    LinkedBlock linked = LinkObject(Assemble(llvm::CodeGenFileType::ObjectFile));
    KernelImage image;
    image.target = target.text();
    image.kernel_hash = HashOf(Print(kernel));
    image.sizes_entry = linked.functions.at(kSizesName);
    for (size_t index = 0; index < num_loops; ++index) {
      image.loop_entries.push_back(linked.functions.at(NameOfLoop(index)));
    }
    image.block = std::move(linked.bytes);
    return image;
  }

  std::string Text() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_.print(stream, nullptr);
    return text;
  }

 private:
  void SetAttributes(const HostTarget& target) {
    const char* width = target.Has("avx512f") && target.Has("avx512vl") ? "512" : "256";
    for (llvm::Function& function : module_) {
      if (function.isDeclaration()) continue;
      function.addFnAttr("target-cpu", machine_->getTargetCPU());
      function.addFnAttr("target-features", machine_->getTargetFeatureString());
      function.addFnAttr("prefer-vector-width", width);
      function.addFnAttr("no-builtins");
    }
  }

  llvm::LLVMContext llvm_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::Module module_;
};

}  // namespace

Kernel PrepareForCpu(const Kernel& kernel) {
  Kernel draft = CopyOf(kernel);
  SplitArgReductions(draft);
  InterchangeReductions(draft);
  std::vector<ValueId> symbols(draft.symbols.size());
  std::iota(symbols.begin(), symbols.end(), 0);
  return Compact(std::move(draft), symbols);
}

KernelImage Generate(const Kernel& kernel, const HostTarget& target) {
  const Kernel prepared = PrepareForCpu(kernel);
  Compilation compilation(prepared, target);
  return compilation.Finish(kernel, target, prepared.body.size());
}

KernelImage GenerateSizes(const Kernel& kernel, const HostTarget& target) {
  Compilation compilation(kernel, target, EmitSizes);
  return compilation.Finish(kernel, target, 0);
}

std::string GenerateLlvm(const Kernel& kernel, const HostTarget& target) {
  const Kernel prepared = PrepareForCpu(kernel);
  Compilation compilation(prepared, target);
  compilation.Optimise();
  return compilation.Text();
}

std::string GenerateAssembly(const Kernel& kernel, const HostTarget& target) {
  const Kernel prepared = PrepareForCpu(kernel);
  Compilation compilation(prepared, target);
  compilation.Optimise();
  return compilation.Assemble(llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace hearth::fuser
