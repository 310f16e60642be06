#include "benchmarks/experiments/compiler_placement/loop_nest_compiler.h"

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <cmath>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

namespace hearth::benchmarks {
namespace {

using llvm::IRBuilder;
using llvm::Value;

void Check(llvm::Error error) {
  if (error) {
    throw std::runtime_error(llvm::toString(std::move(error)));
  }
}

template <typename T>
T Check(llvm::Expected<T> value) {
  Check(value.takeError());
  return std::move(*value);
}

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

// Every step keeps values bounded, so that a chain of any length stays comparable.
enum class Step { kAverage, kProduct, kMaximum, kSoftSign, kPolynomial, kRoot, kSelect };
constexpr int kSteps = 7;
constexpr float kCoefficients[] = {0.25F, -0.125F, 0.0625F, 0.5F, 0.1F};

struct Operation {
  Step step;
  int left, right;  // earlier values: inputs first, then operations
};

enum class Nest { kPointwise, kRows, kMatrixProduct };

struct Kernel {
  Nest nest;
  int rank;
  int inputs;
  std::vector<Operation> operations;
};

struct Plan {
  llvm::OptimizationLevel level = llvm::OptimizationLevel::O2;
  std::vector<Kernel> kernels;
};

Plan PlanOfSeed(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Plan plan;
  plan.level = pick(0, 1) == 0 ? llvm::OptimizationLevel::O2 : llvm::OptimizationLevel::O3;
  for (int left = pick(1, 4); left > 0; --left) {
    Kernel kernel{.nest = static_cast<Nest>(pick(0, 2)), .rank = pick(1, 4), .inputs = pick(2, 4), .operations = {}};
    const int length = pick(3, 24);
    for (int index = 0; index < length; ++index) {
      // The newest value is always used, as in a chain of layers.
      const int newest = kernel.inputs + index - 1;
      kernel.operations.push_back({static_cast<Step>(pick(0, kSteps - 1)), newest, pick(0, newest)});
    }
    plan.kernels.push_back(std::move(kernel));
  }
  return plan;
}

std::string NameOf(size_t index) { return "kernel_" + std::to_string(index); }

// ---- The plain evaluation ----

float Apply(Step step, float x, float y) {
  switch (step) {
    case Step::kAverage:
      return (x + y) * 0.5F;
    case Step::kProduct:
      return x * y / (1.0F + std::fabs(x));
    case Step::kMaximum:
      return x > y ? x : y;
    case Step::kSoftSign:
      return x / (1.0F + std::fabs(x));
    case Step::kPolynomial: {
      const float bounded = x / (1.0F + std::fabs(x));
      float sum = kCoefficients[0];
      for (size_t i = 1; i < std::size(kCoefficients); ++i) {
        sum = sum * bounded + kCoefficients[i];
      }
      return sum;
    }
    case Step::kRoot:
      return std::sqrt(x * x + 1.0F) - 1.0F;
    case Step::kSelect:
      return x > 0.0F ? x : y * 0.5F;
  }
  return 0;
}

float Chain(const Kernel& kernel, std::vector<float> values) {
  for (const Operation& operation : kernel.operations) {
    values.push_back(Apply(operation.step, values[operation.left], values[operation.right]));
  }
  return values.back();
}

// ---- The same as IR ----

using Builder = IRBuilder<>;

Value* Number(Builder& builder, float number) { return llvm::ConstantFP::get(builder.getFloatTy(), number); }

Value* SoftSign(Builder& builder, Value* x) {
  Value* magnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  return builder.CreateFDiv(x, builder.CreateFAdd(Number(builder, 1), magnitude));
}

Value* EmitStep(Builder& builder, Step step, Value* x, Value* y) {
  switch (step) {
    case Step::kAverage:
      return builder.CreateFMul(builder.CreateFAdd(x, y), Number(builder, 0.5F));
    case Step::kProduct: {
      Value* magnitude = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
      return builder.CreateFDiv(builder.CreateFMul(x, y), builder.CreateFAdd(Number(builder, 1), magnitude));
    }
    case Step::kMaximum:
      return builder.CreateSelect(builder.CreateFCmpOGT(x, y), x, y);
    case Step::kSoftSign:
      return SoftSign(builder, x);
    case Step::kPolynomial: {
      Value* bounded = SoftSign(builder, x);
      Value* sum = Number(builder, kCoefficients[0]);
      for (size_t i = 1; i < std::size(kCoefficients); ++i) {
        sum = builder.CreateFAdd(builder.CreateFMul(sum, bounded), Number(builder, kCoefficients[i]));
      }
      return sum;
    }
    case Step::kRoot: {
      Value* square = builder.CreateFAdd(builder.CreateFMul(x, x), Number(builder, 1));
      return builder.CreateFSub(builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, square), Number(builder, 1));
    }
    case Step::kSelect:
      return builder.CreateSelect(builder.CreateFCmpOGT(x, Number(builder, 0)), x,
                                  builder.CreateFMul(y, Number(builder, 0.5F)));
  }
  return x;
}

// for (index = 0; index < bound; ++index) carried = body(index, carried); the bound is at least 1. Null carries
// nothing.
Value* EmitLoop(Builder& builder, Value* bound, Value* initial, const std::function<Value*(Value*, Value*)>& body) {
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(builder.getContext(), "loop", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(builder.getContext(), "after", function);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* index = builder.CreatePHI(builder.getInt64Ty(), 2);
  llvm::PHINode* carried = initial == nullptr ? nullptr : builder.CreatePHI(initial->getType(), 2);
  Value* next_carried = body(index, carried);
  Value* next = builder.CreateNSWAdd(index, builder.getInt64(1));
  llvm::BasicBlock* latch = builder.GetInsertBlock();
  builder.CreateCondBr(builder.CreateICmpSLT(next, bound), loop, after);
  index->addIncoming(builder.getInt64(0), before);
  index->addIncoming(next, latch);
  if (carried != nullptr) {
    carried->addIncoming(initial, before);
    carried->addIncoming(next_carried, latch);
  }
  builder.SetInsertPoint(after);
  return next_carried;
}

// void kernel(const float* const* inputs, float* output, const int64_t* sizes, const int64_t* strides)
class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : builder_(module.getContext()), kernel_(kernel) {
    llvm::Type* pointer = builder_.getPtrTy();
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, pointer, pointer}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
  }

  void Emit() {
    for (int input = 0; input < kernel_.inputs; ++input) {
      inputs_.push_back(LoadElement(builder_.getPtrTy(), function_->getArg(0), builder_.getInt64(input)));
    }
    for (int dimension = 0; dimension < rank(); ++dimension) {
      sizes_.push_back(LoadElement(builder_.getInt64Ty(), function_->getArg(2), builder_.getInt64(dimension)));
    }
    for (int stride = 0; stride < kernel_.inputs * rank(); ++stride) {
      strides_.push_back(LoadElement(builder_.getInt64Ty(), function_->getArg(3), builder_.getInt64(stride)));
    }
    indices_.clear();
    EmitDimension(0, builder_.getInt64(0));
    builder_.CreateRetVoid();
  }

 private:
  int rank() const { return kernel_.rank; }

  Value* LoadElement(llvm::Type* type, Value* base, Value* index) {
    return builder_.CreateLoad(type, builder_.CreateInBoundsGEP(type, base, index));
  }
  void StoreElement(Value* value, Value* index) {
    builder_.CreateStore(value, builder_.CreateInBoundsGEP(builder_.getFloatTy(), function_->getArg(1), index));
  }

  // Input `input` at the indices of the loops that are open.
  Value* LoadInput(int input) {
    Value* offset = builder_.getInt64(0);
    for (size_t dimension = 0; dimension < indices_.size(); ++dimension) {
      Value* stride = strides_[input * rank() + dimension];
      offset = builder_.CreateNSWAdd(offset, builder_.CreateNSWMul(indices_[dimension], stride));
    }
    return LoadElement(builder_.getFloatTy(), inputs_[input], offset);
  }

  Value* EmitChain() {
    std::vector<Value*> values;
    for (int input = 0; input < kernel_.inputs; ++input) {
      values.push_back(LoadInput(input));
    }
    for (const Operation& operation : kernel_.operations) {
      values.push_back(EmitStep(builder_, operation.step, values[operation.left], values[operation.right]));
    }
    return values.back();
  }

  Value* Sum(Value* bound, const std::function<Value*(Value*)>& term) {
    return EmitLoop(builder_, bound, Number(builder_, 0), [&](Value* index, Value* sum) {
      auto* added = llvm::cast<llvm::Instruction>(builder_.CreateFAdd(sum, term(index)));
      // Without this no reduction is vectorised.
      added->setHasAllowReassoc(true);
      return added;
    });
  }

  // The loops from `dimension` inwards; `row` is the index so far in the output, which is dense.
  void EmitDimension(int dimension, Value* row) {
    if (kernel_.nest == Nest::kRows && dimension == rank() - 1) {
      EmitRow(row);
      return;
    }
    EmitLoop(builder_, sizes_[dimension], nullptr, [&](Value* index, Value*) -> Value* {
      indices_.push_back(index);
      Value* position = builder_.CreateNSWAdd(builder_.CreateNSWMul(row, sizes_[dimension]), index);
      if (dimension + 1 < rank()) {
        EmitDimension(dimension + 1, position);
      } else if (kernel_.nest == Nest::kMatrixProduct) {
        EmitProduct(position);
      } else {
        StoreElement(EmitChain(), position);
      }
      indices_.pop_back();
      return nullptr;
    });
  }

  // chain / (1 + |sum of the row's chains|)
  void EmitRow(Value* row) {
    Value* size = sizes_.back();
    const auto chain_at = [&](Value* index) {
      indices_.push_back(index);
      Value* value = EmitChain();
      indices_.pop_back();
      return value;
    };
    Value* sum = Sum(size, chain_at);
    Value* scale = builder_.CreateFAdd(Number(builder_, 1), builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, sum));
    EmitLoop(builder_, size, nullptr, [&](Value* index, Value*) -> Value* {
      Value* position = builder_.CreateNSWAdd(builder_.CreateNSWMul(row, size), index);
      StoreElement(builder_.CreateFDiv(chain_at(index), scale), position);
      return nullptr;
    });
  }

  // chain + the sum over k < last size of input 0 [k] * input 1 [k]
  void EmitProduct(Value* position) {
    Value* sum = Sum(sizes_.back(), [&](Value* index) {
      return builder_.CreateFMul(LoadElement(builder_.getFloatTy(), inputs_[0], index),
                                 LoadElement(builder_.getFloatTy(), inputs_[1], index));
    });
    StoreElement(builder_.CreateFAdd(EmitChain(), sum), position);
  }

  Builder builder_;
  const Kernel& kernel_;
  llvm::Function* function_;
  std::vector<Value*> inputs_, sizes_, strides_, indices_;
};

// ---- A call of a linked kernel ----

using Function = void (*)(const float* const*, float*, const int64_t*, const int64_t*);

void CallAndCompare(const Kernel& kernel, Function function, const std::string& name) {
  constexpr int64_t kSize = 5;
  const std::vector<int64_t> sizes(kernel.rank, kSize);
  int64_t elements = 1;
  std::vector<int64_t> dense(kernel.rank);
  for (int dimension = kernel.rank - 1; dimension >= 0; --dimension) {
    dense[dimension] = elements;
    elements *= kSize;
  }
  std::vector<std::vector<float>> data(kernel.inputs, std::vector<float>(elements));
  std::vector<const float*> inputs;
  std::vector<int64_t> strides;
  for (int input = 0; input < kernel.inputs; ++input) {
    for (int64_t i = 0; i < elements; ++i) {
      data[input][i] = static_cast<float>((i * 7 + input * 3) % 11 - 5) / 4.0F;
    }
    inputs.push_back(data[input].data());
    strides.insert(strides.end(), dense.begin(), dense.end());
  }
  std::vector<float> output(elements);
  function(inputs.data(), output.data(), sizes.data(), strides.data());

  std::vector<float> chain(elements);
  for (int64_t i = 0; i < elements; ++i) {
    std::vector<float> values;
    for (const auto& input : data) {
      values.push_back(input[i]);
    }
    chain[i] = Chain(kernel, std::move(values));
  }
  for (int64_t i = 0; i < elements; ++i) {
    float expected = chain[i];
    float sum = 0;
    for (int64_t k = 0; k < kSize; ++k) {
      sum += kernel.nest == Nest::kRows ? chain[i / kSize * kSize + k] : data[0][k] * data[1][k];
    }
    if (kernel.nest == Nest::kRows) {
      expected /= 1.0F + std::fabs(sum);
    } else if (kernel.nest == Nest::kMatrixProduct) {
      expected += sum;
    }
    if (!(std::fabs(output[i] - expected) <= 1e-4F * (1.0F + std::fabs(expected)))) {
      throw std::runtime_error(name + ": element " + std::to_string(i) + " is " + std::to_string(output[i]) +
                               ", expected " + std::to_string(expected));
    }
  }
}

}  // namespace

struct LoopNestCompiler::State {
  std::function<void()> between_passes;
  std::unique_ptr<llvm::TargetMachine> machine;
};

LoopNestCompiler::LoopNestCompiler(std::function<void()> between_passes) : state_(std::make_unique<State>()) {
  InitializeLlvm();
  state_->between_passes = std::move(between_passes);
  auto target = Check(llvm::orc::JITTargetMachineBuilder::detectHost());
  target.setRelocationModel(llvm::Reloc::PIC_);
  state_->machine = Check(target.createTargetMachine());
}

LoopNestCompiler::~LoopNestCompiler() = default;

std::string LoopNestCompiler::Compile(uint64_t seed) {
  const Plan plan = PlanOfSeed(seed);
  llvm::TargetMachine& machine = *state_->machine;
  llvm::LLVMContext context;
  llvm::Module module("module_" + std::to_string(seed), context);
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple().str());
  for (size_t index = 0; index < plan.kernels.size(); ++index) {
    KernelEmitter(module, plan.kernels[index], NameOf(index)).Emit();
  }
  for (llvm::Function& function : module) {
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  if (llvm::verifyModule(module, &llvm::errs())) {
    throw std::runtime_error("module " + std::to_string(seed) + " is not sound");
  }

  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerBeforeNonSkippedPassCallback([&](llvm::StringRef, llvm::Any) { state_->between_passes(); });
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graphs, modules);
  builder.buildPerModuleDefaultPipeline(plan.level).run(module, modules);

  state_->between_passes();
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager code_generation;
  if (machine.addPassesToEmitFile(code_generation, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    throw std::runtime_error("no object files for " + machine.getTargetTriple().str());
  }
  code_generation.run(module);
  return {object.begin(), object.end()};
}

struct LoopNestLinker::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

LoopNestLinker::LoopNestLinker() : state_(std::make_unique<State>()) {
  InitializeLlvm();
  state_->jit = Check(llvm::orc::LLJITBuilder().create());
}

LoopNestLinker::~LoopNestLinker() = default;

void LoopNestLinker::LinkAndCall(uint64_t seed, const std::string& object) {
  const Plan plan = PlanOfSeed(seed);
  llvm::orc::LLJIT& jit = *state_->jit;
  llvm::orc::ResourceTrackerSP tracker = jit.getMainJITDylib().createResourceTracker();
  Check(jit.addObjectFile(tracker, llvm::MemoryBuffer::getMemBufferCopy(object, "module")));
  for (size_t index = 0; index < plan.kernels.size(); ++index) {
    auto address = Check(jit.lookup(NameOf(index)));
    CallAndCompare(plan.kernels[index], address.toPtr<Function>(), NameOf(index));
  }
  Check(tracker->remove());
}

}  // namespace hearth::benchmarks
