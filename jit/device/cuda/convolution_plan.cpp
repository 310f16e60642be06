#include "jit/device/cuda/convolution_plan.h"

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "jit/device/choice_table.h"

namespace hearth {
namespace {

// What an engine may use beside its operands.
constexpr int64_t kMostWorkspace = int64_t{512} << 20;
// Of addresses: LibTorch's allocator gives more, views may have less.
constexpr int64_t kAlignment = 16;
// Engines that are asked for, of the many that the library ranks.
constexpr int64_t kMostEngines = 32;
// Of these, that are tried, and that are compiled for it.
constexpr size_t kMostTried = 6;
constexpr size_t kMostCompiled = 1;

// Names of the operands of a graph, for the library.
enum Operand : int64_t { kInput = 1, kWeight, kBias, kAddend, kResult, kFirstVirtual };

void Check(cudnnStatus_t status, const char* what) {
  TORCH_CHECK(status == CUDNN_STATUS_SUCCESS, what, " failed: ", cudnnGetErrorString(status));
}

// One of the library's descriptors, which are made, told their attributes and then made final.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    Check(cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  cudnnBackendDescriptor_t release() { return std::exchange(descriptor_, nullptr); }

  template <typename T>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::span<const T> values) {
    Check(cudnnBackendSetAttribute(descriptor_, name, type, static_cast<int64_t>(values.size()), values.data()),
          "cudnnBackendSetAttribute");
    return *this;
  }
  template <typename T>
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return Set(name, type, std::span<const T>(&value, 1));
  }
  Descriptor& SetDescriptor(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.get());
  }
  cudnnStatus_t TryFinalize() { return cudnnBackendFinalize(descriptor_); }
  void Finalize() { Check(TryFinalize(), "cudnnBackendFinalize"); }

  int64_t Number(cudnnBackendAttributeName_t name) const {
    int64_t number = 0, count = 0;
    Check(cudnnBackendGetAttribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &number),
          "cudnnBackendGetAttribute");
    return number;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

cudnnDataType_t TypeOf(c10::ScalarType dtype) {
  return dtype == c10::kHalf ? CUDNN_DATA_HALF : dtype == c10::kBFloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

std::array<int64_t, 4> StridesOf(const std::array<int64_t, 4>& sizes, bool is_channels_last) {
  const auto [batch, channels, height, width] = sizes;
  if (is_channels_last) return {height * width * channels, 1, width * channels, channels};
  return {channels * height * width, height * width, width, 1};
}

// The convolution and what follows it as the library's operations.
class Operations {
 public:
  explicit Operations(const ConvolutionKey& key) : key_(key), dtype_(TypeOf(static_cast<c10::ScalarType>(key.dtype))) {
    const Descriptor& input = Tensor(kInput, key.input, dtype_);
    const Descriptor& weight = Tensor(kWeight, key.weight, dtype_);
    const Descriptor* last = &Result(!key.has_addend && !key.has_bias && !key.has_relu);
    AddConvolution(input, weight, *last);
    if (key.has_addend) {
      const Descriptor& sum = Result(!key.has_bias && !key.has_relu);
      AddPointwise(CUDNN_POINTWISE_ADD, *last, &Tensor(kAddend, key.result, dtype_), sum);
      last = &sum;
    }
    if (key.has_bias) {
      const Descriptor& sum = Result(!key.has_relu);
      AddPointwise(CUDNN_POINTWISE_ADD, *last, &Tensor(kBias, {1, key.weight[0], 1, 1}, dtype_), sum);
      last = &sum;
    }
    if (key.has_relu) AddPointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, Result(true));
  }

  Descriptor Graph(cudnnHandle_t handle) const {
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    std::vector<cudnnBackendDescriptor_t> operations;
    for (const Descriptor& each : operations_) operations.push_back(each.get());
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle)
        .Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             std::span<const cudnnBackendDescriptor_t>(operations));
    graph.Finalize();
    return graph;
  }

 private:
  const Descriptor& Tensor(int64_t name, const std::array<int64_t, 4>& sizes, cudnnDataType_t type,
                           bool is_virtual = false) {
    Descriptor& tensor = descriptors_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const std::array<int64_t, 4> strides = StridesOf(sizes, key_.is_channels_last);
    tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
        .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const int64_t>(sizes))
        .Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const int64_t>(strides))
        .Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name)
        .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment)
        .Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
    tensor.Finalize();
    return tensor;
  }

  // What an operation gives: the result, or what only the next one reads, which is not rounded.
  const Descriptor& Result(bool is_last) {
    return is_last ? Tensor(kResult, key_.result, dtype_)
                   : Tensor(next_virtual_++, key_.result, CUDNN_DATA_FLOAT, /*is_virtual=*/true);
  }

  void AddConvolution(const Descriptor& input, const Descriptor& weight, const Descriptor& result) {
    Descriptor& convolution = descriptors_.emplace_back(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const std::span<const int64_t> padding(key_.padding);
    convolution.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2})
        .Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, padding)
        .Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, padding)
        .Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, std::span<const int64_t>(key_.stride))
        .Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, std::span<const int64_t>(key_.dilation));
    convolution.Finalize();
    Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
        .SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input)
        .SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weight)
        .SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, result)
        .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F)
        .Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
    operation.Finalize();
  }

  void AddPointwise(cudnnPointwiseMode_t mode, const Descriptor& left, const Descriptor* right,
                    const Descriptor& result) {
    Descriptor& pointwise = descriptors_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    pointwise.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    pointwise.Finalize();
    Descriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
        .SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, left);
    if (right != nullptr) operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *right);
    operation.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    operation.Finalize();
  }

  const ConvolutionKey& key_;
  const cudnnDataType_t dtype_;
  int64_t next_virtual_ = kFirstVirtual;
  std::deque<Descriptor> descriptors_;  // which stay where they are
  std::deque<Descriptor> operations_;
};

// What the library says of an engine.
class Notes {
 public:
  explicit Notes(const Descriptor& settings) : engine_(CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    cudnnBackendDescriptor_t place = engine_.get();
    int64_t count = 0;
    Check(cudnnBackendGetAttribute(settings.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                   &count, &place),
          "cudnnBackendGetAttribute");
    numerical_ = Read<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                                   CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    behavior_ = Read<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                                 CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  }

  bool Has(cudnnBackendNumericalNote_t note) const { return std::ranges::count(numerical_, note) > 0; }
  bool is_compiled() const { return std::ranges::count(behavior_, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) > 0; }

 private:
  template <typename Note>
  std::vector<Note> Read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most) const {
    std::vector<Note> notes(static_cast<size_t>(most));
    int64_t count = 0;
    Check(cudnnBackendGetAttribute(engine_.get(), name, type, most, &count, notes.data()), "cudnnBackendGetAttribute");
    notes.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, most)));
    return notes;
  }

  const Descriptor engine_;
  std::vector<cudnnBackendNumericalNote_t> numerical_;
  std::vector<cudnnBackendBehaviorNote_t> behavior_;
};

// Whether it computes as LibTorch's operators let it, and the same in every run.
bool MayUse(const Notes& notes, const ConvolutionKey& key) {
  const bool is_float = static_cast<c10::ScalarType>(key.dtype) == c10::kFloat;
  return !notes.Has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) && !notes.Has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
         !(is_float && !key.rounds && notes.Has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

// Engines with their settings, the fastest first by the library's estimate.
std::vector<Descriptor> RankEngines(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor ranking(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  ranking.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (ranking.TryFinalize() != CUDNN_STATUS_SUCCESS) return {};
  std::vector<Descriptor> engines;
  std::vector<cudnnBackendDescriptor_t> places;
  for (int64_t i = 0; i < kMostEngines; ++i) {
    places.push_back(engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  int64_t count = 0;
  Check(cudnnBackendGetAttribute(ranking.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 kMostEngines, &count, places.data()),
        "cudnnBackendGetAttribute");
  while (engines.size() > static_cast<size_t>(std::clamp<int64_t>(count, 0, kMostEngines))) engines.pop_back();
  return engines;
}

std::vector<Descriptor> UsableEngines(const Descriptor& graph, const ConvolutionKey& key) {
  std::vector<Descriptor> engines = RankEngines(graph, CUDNN_HEUR_MODE_A);
  for (Descriptor& last : RankEngines(graph, CUDNN_HEUR_MODE_FALLBACK)) engines.push_back(std::move(last));
  std::vector<Descriptor> usable;
  for (Descriptor& settings : engines) {
    if (MayUse(Notes(settings), key)) usable.push_back(std::move(settings));
  }
  return usable;
}

// Null where the engine is not able to, although it ranks, or needs too much memory.
ConvolutionPlan MakeReady(cudnnHandle_t handle, const Descriptor& settings) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle)
      .SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, settings);
  if (plan.TryFinalize() != CUDNN_STATUS_SUCCESS) return {};
  const int64_t workspace = plan.Number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (workspace > kMostWorkspace) return {};
  return {.plan = plan.release(), .workspace_bytes = static_cast<size_t>(workspace)};
}

}  // namespace

uint64_t HashOf(const ConvolutionKey& key) {
  ChoiceHash hash;
  for (const std::array<int64_t, 4>& sizes : {key.input, key.weight}) {
    for (int64_t size : sizes) hash.Add(static_cast<uint64_t>(size));
  }
  for (const std::array<int64_t, 2>& numbers : {key.stride, key.padding, key.dilation}) {
    for (int64_t number : numbers) hash.Add(static_cast<uint64_t>(number));
  }
  hash.Add(static_cast<uint64_t>(key.dtype) | uint64_t{key.is_channels_last} << 8U | uint64_t{key.has_bias} << 9U |
           uint64_t{key.has_addend} << 10U | uint64_t{key.has_relu} << 11U | uint64_t{key.rounds} << 12U);
  return hash.value();
}

ConvolutionPlan PlanConvolution(cudnnHandle_t handle, const ConvolutionKey& key) {
  const Operations operations(key);
  const bool is_float = static_cast<c10::ScalarType>(key.dtype) == c10::kFloat;
  std::vector<Descriptor> compiled;
  for (Descriptor& settings : UsableEngines(operations.Graph(handle), key)) {
    if (!is_float && Notes(settings).is_compiled()) {
      compiled.push_back(std::move(settings));
    } else if (ConvolutionPlan plan = MakeReady(handle, settings); plan.plan != nullptr) {
      plan.is_best = is_float;
      return plan;
    }
  }
  for (const Descriptor& settings : compiled) {
    if (const ConvolutionPlan plan = MakeReady(handle, settings); plan.plan != nullptr) return plan;
  }
  return {};
}

ConvolutionPlan FindFastest(cudnnHandle_t handle, const ConvolutionKey& key,
                            const std::function<float(const ConvolutionPlan&)>& time) {
  const Operations operations(key);
  ConvolutionPlan best;
  float best_time = std::numeric_limits<float>::infinity();
  size_t tried = 0, compiled = 0;
  for (const Descriptor& settings : UsableEngines(operations.Graph(handle), key)) {
    const bool is_compiled = Notes(settings).is_compiled();
    if (tried == kMostTried) break;
    if (is_compiled && compiled == kMostCompiled) continue;
    ConvolutionPlan plan = MakeReady(handle, settings);
    if (plan.plan == nullptr) continue;
    ++tried;
    compiled += is_compiled ? 1 : 0;
    float taken = std::numeric_limits<float>::infinity();
    try {
      taken = time(plan);
    } catch (const c10::Error&) {
      // It is not able to, although it ranks.
    }
    if (taken < best_time) {
      std::swap(best, plan);
      best_time = taken;
    }
    Free(plan);
  }
  best.is_best = true;
  return best;
}

void Free(const ConvolutionPlan& plan) {
  if (plan.plan != nullptr) cudnnBackendDestroyDescriptor(plan.plan);
}

void RunConvolution(cudnnHandle_t handle, const ConvolutionPlan& plan, const ConvolutionOperands& operands) {
  std::array<int64_t, 5> names{};
  std::array<const void*, 5> addresses{};
  size_t count = 0;
  const auto add = [&](Operand name, const void* address) {
    if (address == nullptr) return;
    names.at(count) = name;
    addresses.at(count++) = address;
  };
  add(kInput, operands.input);
  add(kWeight, operands.weight);
  add(kBias, operands.bias);
  add(kAddend, operands.addend);
  add(kResult, operands.result);
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::span<const int64_t>(names.data(), count))
      .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           std::span<const void* const>(addresses.data(), count))
      .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, operands.workspace);
  pack.Finalize();
  Check(cudnnBackendExecute(handle, plan.plan, pack.get()), "cudnnBackendExecute");
}

}  // namespace hearth
