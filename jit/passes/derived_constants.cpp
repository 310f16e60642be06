#include "jit/passes/derived_constants.h"

#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace hearth {
namespace {

// Until it is there: runs with streams of their own do not wait for this thread's.
void WaitFor(const at::Tensor& made) {
  if (!made.defined() || made.is_cpu() || made.is_meta()) return;
  c10::impl::VirtualGuardImpl(made.device().type()).getStream(made.device()).synchronize();
}

}  // namespace

DerivedConstantTable::DerivedConstantTable() : threads_of_operators_(at::get_num_threads()) {}

std::vector<at::Tensor> DerivedConstantTable::Get(const std::string& purpose, const std::vector<at::Tensor>& from,
                                                  const std::function<std::vector<at::Tensor>()>& make) {
  const std::lock_guard lock(mutex_);
  Key key(purpose, {});
  for (const at::Tensor& tensor : from) {
    std::optional<Source> source = SourceOf(tensor);
    if (!source) {
      source = Source{.weight = tensor.unsafeGetTensorImpl()};
      if (weights_.emplace(source->weight, tensor).second && tensor.defined()) weight_bytes_ += tensor.nbytes();
    }
    key.second.push_back(*source);
  }
  Entry& entry = entries_.try_emplace(std::move(key), Entry{entries_.size(), {}}).first->second;
  if (std::optional<std::vector<at::Tensor>> alive = Alive(entry)) return *std::move(alive);
  size_t more = 0;
  for (const at::Tensor& tensor : from) more += tensor.defined() ? tensor.nbytes() : 0;
  if (BytesHeld() + more > kMostCopies * weight_bytes_) return {};
  std::vector<at::Tensor> tensors = make();
  for (const at::Tensor& tensor : tensors) WaitFor(tensor);
  entry.made.clear();
  for (const at::Tensor& tensor : tensors) {
    const WeakTensor weak(tensor.getIntrusivePtr());
    if (tensor.defined() && weights_.count(tensor.unsafeGetTensorImpl()) == 0) {
      const Source source{.entry = entry.number, .index = entry.made.size()};
      origins_.insert_or_assign(tensor.unsafeGetTensorImpl(), Origin{weak, source});
    }
    entry.made.push_back({weak, tensor.defined()});
  }
  std::erase_if(origins_, [](const auto& origin) { return origin.second.tensor.expired(); });
  return tensors;
}

std::optional<DerivedConstantTable::Source> DerivedConstantTable::SourceOf(const at::Tensor& tensor) const {
  const auto found = origins_.find(tensor.unsafeGetTensorImpl());
  if (found == origins_.end() || found->second.tensor.expired()) return {};
  return found->second.source;
}

std::optional<std::vector<at::Tensor>> DerivedConstantTable::Alive(const Entry& entry) {
  if (entry.made.empty()) return {};
  std::vector<at::Tensor> tensors;
  for (const Made& made : entry.made) {
    tensors.emplace_back(made.defined ? made.tensor.lock()
                                      : c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>());
    if (tensors.back().defined() != made.defined) return {};
  }
  return tensors;
}

size_t DerivedConstantTable::bytes() const {
  const std::lock_guard lock(mutex_);
  return BytesHeld();
}

size_t DerivedConstantTable::BytesHeld() const {
  size_t bytes = 0;
  for (const auto& [key, entry] : entries_) {
    for (const Made& made : entry.made) {
      if (const at::Tensor tensor(made.tensor.lock()); tensor.defined()) bytes += tensor.nbytes();
    }
  }
  return bytes;
}

std::vector<at::Tensor> DerivedConstants::Get(const std::string& purpose, const std::vector<at::Tensor>& from,
                                              const std::function<std::vector<at::Tensor>()>& make) {
  bool made = false;
  std::vector<at::Tensor> tensors = table_.Get(purpose, from, [&] {
    made = true;
    return make();
  });
  if (made && rest_) rest_();
  return tensors;
}

}  // namespace hearth
