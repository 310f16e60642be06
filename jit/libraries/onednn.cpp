#include "jit/libraries/onednn.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <array>

#include "jit/kernels/target.h"
#include "jit/support/denormals.h"
#include "jit/support/parallel_for.h"

namespace hearth::libraries {
namespace {

dnnl::stream& StreamOfThread() {
  thread_local dnnl::stream stream(Engine());
  return stream;
}

// A primitive's view of some bytes.
class Bytes {
 public:
  Bytes(const dnnl::memory::desc& form, const void* at) {
    // Arguments that are only read have the type of the others.
    const dnnl_status_t status = dnnl_memory_create(&memory_, form.get(), Engine().get(), const_cast<void*>(at));
    TORCH_CHECK(status == dnnl_success, "oneDNN takes no memory for a call, with status ", static_cast<int>(status));
  }
  ~Bytes() { dnnl_memory_destroy(memory_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  dnnl_memory_t get() const { return memory_; }

 private:
  dnnl_memory_t memory_ = nullptr;
};

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::desc DenseForm(at::IntArrayRef sizes, dnnl::memory::format_tag tag) {
  return {dnnl::memory::dims(sizes.begin(), sizes.end()), dnnl::memory::data_type::f32, tag};
}

std::shared_ptr<const WeightForm> MakeWeightForm(const dnnl::memory::desc& form) {
  if (form.get_format_kind() != dnnl::memory::format_kind::blocked) return nullptr;
  std::string text;
  const auto append = [&](const dnnl::memory::dims& numbers) {
    for (const int64_t number : numbers) text += std::to_string(number) + " ";
    text += "/ ";
  };
  append(form.get_padded_dims());
  append(form.get_strides());
  append(form.get_inner_blks());
  append(form.get_inner_idxs());
  text += std::to_string(form.get_size());
  return std::make_shared<const WeightForm>(WeightForm{form, std::move(text)});
}

std::shared_ptr<const WeightForm> OwnForm(WeightUser user, int64_t groups, int64_t merged, kernels::WinogradTile tile) {
  if (!kernels::HasVectors()) return nullptr;
  std::string text = "own";
  for (const int64_t number : {static_cast<int64_t>(user), groups, merged, static_cast<int64_t>(tile)})
    text += " " + std::to_string(number);
  return std::make_shared<const WeightForm>(WeightForm{{}, std::move(text), user, groups, merged, tile});
}

void MultiplyOnThreads(const kernels::Product& product) {
  const double nanoseconds = kernels::NanosecondsOf(product);
  const WorkDivision division = DivisionFor(nanoseconds);
  const kernels::ProductParts parts(product, division.parts, division.pieces_of_part);
  ParallelFor(parts.count(), nanoseconds / static_cast<double>(parts.count()), [&](int64_t begin, int64_t end) {
    const DenormalsAreZero fast;
    for (int64_t i = begin; i < end; ++i) kernels::Multiply(product, parts[i]);
  });
}

bool IsOptimized(const dnnl::primitive_desc_base& primitive) {
  const std::string_view implementation = primitive.impl_info_str();
  return implementation.find("ref") == std::string_view::npos;
}

bool IsByProducts(const dnnl::primitive_desc_base& primitive) {
  const std::string_view implementation = primitive.impl_info_str();
  return implementation.find("gemm") != std::string_view::npos;
}

std::vector<PrimitiveTable::Entry>::const_iterator PrimitiveTable::Search(const PrimitiveKey& key) const {
  return std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.threads == key.threads && entry.has_bias == key.has_bias &&
           at::IntArrayRef(entry.sizes) == key.sizes && entry.epilogue == key.epilogue;
  });
}

std::shared_ptr<const PreparedCall> PrimitiveTable::Find(const PrimitiveKey& key) {
  const std::shared_lock lock(mutex_);
  const auto found = Search(key);
  return found == entries_.end() ? nullptr : found->prepared;
}

std::shared_ptr<const PreparedCall> PrimitiveTable::Get(const PrimitiveKey& key, const Maker& make) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = Search(key); found != entries_.end()) return found->prepared;
  }
  // Without the lock: it may take long, and others go on. Two threads may make the same.
  std::optional<PreparedCall> made = make();
  Entry entry{key.sizes.vec(), key.has_bias, std::string(key.epilogue), key.threads, nullptr};
  if (made) entry.prepared = std::make_shared<const PreparedCall>(std::move(*made));
  const std::unique_lock lock(mutex_);
  if (const auto found = Search(key); found != entries_.end()) return found->prepared;
  std::shared_ptr<const PreparedCall> prepared = entry.prepared;
  if (entries_.size() < kMost) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[oldest_++ % kMost] = std::move(entry);
  }
  return prepared;
}

void Execute(const PreparedCall& prepared, const at::Tensor& input, const at::Tensor& weight, const at::Tensor* bias,
             at::Tensor& result) {
  const size_t scratch_size = prepared.scratch.get_size();
  const at::DataPtr scratch = scratch_size == 0 ? at::DataPtr() : c10::GetCPUAllocator()->allocate(scratch_size);
  const Bytes source(prepared.input, input.const_data_ptr()), weights(prepared.weight, weight.const_data_ptr()),
      target(prepared.result, result.mutable_data_ptr()), space(prepared.scratch, scratch.get()),
      summand(prepared.bias, bias == nullptr ? nullptr : bias->const_data_ptr());
  std::array<dnnl_exec_arg_t, 5> arguments{{{DNNL_ARG_SRC, source.get()},
                                            {DNNL_ARG_WEIGHTS, weights.get()},
                                            {DNNL_ARG_DST, target.get()},
                                            {DNNL_ARG_SCRATCHPAD, space.get()},
                                            {DNNL_ARG_BIAS, summand.get()}}};
  const int count = bias == nullptr ? 4 : 5;
  const DenormalsAreZero fast;
  dnnl_status_t status =
      dnnl_primitive_execute(prepared.primitive.get(), StreamOfThread().get(), count, arguments.data());
  if (status == dnnl_success) status = dnnl_stream_wait(StreamOfThread().get());
  TORCH_CHECK(status == dnnl_success, "oneDNN cannot compute a call, with status ", static_cast<int>(status));
}

}  // namespace hearth::libraries
