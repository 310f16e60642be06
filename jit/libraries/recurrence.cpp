#include "jit/libraries/recurrence.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <utility>

#include "jit/libraries/onednn.h"
#include "jit/libraries/recurrent_cells.h"
#include "jit/support/denormals.h"

namespace hearth::libraries {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc Form(const memory::dims& sizes, Tag tag) { return {sizes, memory::data_type::f32, tag}; }

bool IsPlain(const at::Tensor& tensor, int64_t rank) {
  return tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.device().is_cpu() && !tensor.is_neg() && tensor.dim() == rank;
}

at::Tensor PackAs(const at::Tensor& dense, const memory::desc& from, const memory::desc& to) {
  at::Tensor packed = at::empty({static_cast<int64_t>(to.get_size() / sizeof(float))}, at::kFloat);
  memory source(from, Engine(), const_cast<void*>(dense.const_data_ptr()));
  memory target(to, Engine(), packed.mutable_data_ptr());
  dnnl::stream stream(Engine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return packed;
}

}  // namespace

struct RecurrentLayers {
  struct Layer {
    dnnl::primitive primitive;
    memory::desc input, state, of_input, of_state, bias, output, scratch;
  };
  std::vector<Layer> layers;
  std::string forms;  // of all weights
};

// The last kinds of calls that were prepared. Thread-safe.
class RecurrenceTable {
 public:
  struct Key {
    int64_t steps, sequences;
    int threads;
    bool operator==(const Key&) const = default;
  };

  std::shared_ptr<const RecurrentLayers> Find(const Key& key) {
    const std::shared_lock lock(mutex_);
    for (const auto& [known, layers] : entries_) {
      if (known == key) return layers;
    }
    return nullptr;
  }
  void Put(const Key& key, std::shared_ptr<const RecurrentLayers> layers) {
    const std::unique_lock lock(mutex_);
    if (entries_.size() < kMost) {
      entries_.emplace_back(key, std::move(layers));
    } else {
      entries_[oldest_++ % kMost] = {key, std::move(layers)};
    }
  }

 private:
  static constexpr size_t kMost = 16;

  std::shared_mutex mutex_;
  std::vector<std::pair<Key, std::shared_ptr<const RecurrentLayers>>> entries_;
  size_t oldest_ = 0;
};

Recurrence::Recurrence(RecurrenceSettings settings, const std::vector<at::Tensor>& parameters)
    : settings_(settings), parameters_(parameters), prepared_(std::make_unique<RecurrenceTable>()) {
  const int64_t each = settings_.has_biases ? 4 : 2, gates = settings_.has_memory ? 4 : 3;
  TORCH_CHECK(settings_.layers > 0 && (settings_.directions == 1 || settings_.directions == 2) &&
                  static_cast<int64_t>(parameters_.size()) == settings_.layers * settings_.directions * each,
              "not the parameters of a recurrent layer");
  for (at::Tensor& parameter : parameters_) parameter = parameter.detach();
  TORCH_CHECK(IsPlain(parameters_[0], 2) && IsPlain(parameters_[1], 2), "not the weights of a recurrent layer");
  inputs_ = parameters_[0].size(1);
  hidden_ = parameters_[1].size(1);
  for (size_t i = 0; i < parameters_.size(); i += static_cast<size_t>(each)) {
    const bool is_first = i < static_cast<size_t>(settings_.directions * each);
    const int64_t inputs = is_first ? inputs_ : settings_.directions * hidden_;
    const std::vector<int64_t> of_input = {gates * hidden_, inputs}, of_state = {gates * hidden_, hidden_};
    bool fits = IsPlain(parameters_[i], 2) && parameters_[i].sizes() == of_input && IsPlain(parameters_[i + 1], 2) &&
                parameters_[i + 1].sizes() == of_state;
    for (size_t k = 2; k < static_cast<size_t>(each); ++k) {
      fits &= IsPlain(parameters_[i + k], 1) && parameters_[i + k].size(0) == gates * hidden_;
    }
    TORCH_CHECK(fits, "not the parameters of a recurrent layer");
  }
}

Recurrence::~Recurrence() = default;

std::shared_ptr<const RecurrentLayers> Recurrence::Make(int64_t steps, int64_t sequences,
                                                        std::vector<at::Tensor>* packed) const try {
  const at::NoGradGuard no_gradients;
  const int64_t gates = settings_.has_memory ? 4 : 3, each = settings_.has_biases ? 4 : 2, n = settings_.directions;
  const auto direction =
      n == 2 ? dnnl::rnn_direction::bidirectional_concat : dnnl::rnn_direction::unidirectional_left2right;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto kind = dnnl::prop_kind::forward_inference;
  auto made = std::make_shared<RecurrentLayers>();
  for (int64_t number = 0; number < settings_.layers; ++number) {
    const int64_t inputs = number == 0 ? inputs_ : n * hidden_;
    const memory::desc input = Form({steps, sequences, inputs}, Tag::tnc),
                       state = Form({1, n, sequences, hidden_}, Tag::ldnc),
                       any_of_input = Form({1, n, inputs, gates, hidden_}, Tag::any),
                       any_of_state = Form({1, n, hidden_, gates, hidden_}, Tag::any),
                       bias = Form({1, n, 4, hidden_}, Tag::ldgo),
                       output = Form({steps, sequences, n * hidden_}, Tag::tnc);
    RecurrentLayers::Layer layer{.primitive = {},
                                 .input = input,
                                 .state = state,
                                 .of_input = {},
                                 .of_state = {},
                                 .bias = bias,
                                 .output = output,
                                 .scratch = {}};
    if (settings_.has_memory) {
      const dnnl::lstm_forward::primitive_desc description(Engine(), kind, direction, input, state, state, any_of_input,
                                                           any_of_state, bias, output, state, state, attributes);
      layer.primitive = dnnl::lstm_forward(description);
      layer.of_input = description.weights_layer_desc();
      layer.of_state = description.weights_iter_desc();
      layer.scratch = description.scratchpad_desc();
    } else {
      const dnnl::lbr_gru_forward::primitive_desc description(Engine(), kind, direction, input, state, any_of_input,
                                                              any_of_state, bias, output, state, attributes);
      layer.primitive = dnnl::lbr_gru_forward(description);
      layer.of_input = description.weights_layer_desc();
      layer.of_state = description.weights_iter_desc();
      layer.scratch = description.scratchpad_desc();
    }
    const auto of_input_form = MakeWeightForm(layer.of_input), of_state_form = MakeWeightForm(layer.of_state);
    if (of_input_form == nullptr || of_state_form == nullptr) return nullptr;
    made->forms += of_input_form->text + "; " + of_state_form->text + "; ";
    if (packed != nullptr) {
      // The library's gates are those of LibTorch, but a GRU's first two the other way round. Of the biases of its
      // third one, that of the state has a place of its own.
      std::vector<at::Tensor> of_input, of_state, biases;
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>((number * n + i) * each);
        const auto in_order = [&](const at::Tensor& weight) {
          const std::vector<at::Tensor> parts = weight.chunk(gates, 0);
          return settings_.has_memory ? at::stack(parts) : at::stack({parts[1], parts[0], parts[2]});
        };
        of_input.push_back(in_order(parameters_[at]).permute({2, 0, 1}));
        of_state.push_back(in_order(parameters_[at + 1]).permute({2, 0, 1}));
        if (!settings_.has_biases) {
          biases.push_back(at::zeros({4, hidden_}));
        } else if (settings_.has_memory) {
          biases.push_back(in_order(parameters_[at + 2].add(parameters_[at + 3])));
        } else {
          const at::Tensor a = in_order(parameters_[at + 2]), b = in_order(parameters_[at + 3]);
          biases.push_back(at::cat({a.slice(0, 0, 2).add(b.slice(0, 0, 2)), a.slice(0, 2), b.slice(0, 2)}));
        }
      }
      packed->push_back(
          PackAs(at::stack(of_input).contiguous(), Form(any_of_input.get_dims(), Tag::ldigo), layer.of_input));
      packed->push_back(
          PackAs(at::stack(of_state).contiguous(), Form(any_of_state.get_dims(), Tag::ldigo), layer.of_state));
      packed->push_back(at::stack(biases).contiguous());
    }
    made->layers.push_back(std::move(layer));
  }
  return made;
} catch (const dnnl::error&) {
  return nullptr;
}

std::string Recurrence::FormsFor(int64_t steps, int64_t sequences) const {
  if (steps <= 0 || sequences <= 0) return {};
  if (SuitsCells(settings_, hidden_, sequences)) return kCellForms;
  const auto made = Make(steps, sequences, nullptr);
  if (made != nullptr) return made->forms;
  return HasCells() ? kCellForms : std::string();
}

std::vector<at::Tensor> Recurrence::PackFor(int64_t steps, int64_t sequences) const {
  if (FormsFor(steps, sequences) == kCellForms) return PackCells(settings_, parameters_);
  std::vector<at::Tensor> packed;
  const auto made = Make(steps, sequences, &packed);
  TORCH_CHECK(made != nullptr, "oneDNN has no code for such a recurrent layer");
  return packed;
}

void Recurrence::Prepare(int64_t steps, int64_t sequences) const {
  const RecurrenceTable::Key key{steps, sequences, at::get_num_threads()};
  if (packed_.empty() || forms_ == kCellForms || steps <= 0 || sequences <= 0) return;
  if (prepared_->Find(key) != nullptr) return;
  auto layers = Make(steps, sequences, nullptr);
  if (layers != nullptr && layers->forms == forms_) prepared_->Put(key, std::move(layers));
}

std::optional<Recurrence::Results> Recurrence::Run(const at::Tensor& input, const at::Tensor& hidden,
                                                   const at::Tensor* memory_before) const {
  if (!IsPlain(input, 3) || !IsPlain(hidden, 3) || (memory_before == nullptr) == settings_.has_memory) return {};
  const int64_t steps = input.size(settings_.batch_first ? 1 : 0),
                sequences = input.size(settings_.batch_first ? 0 : 1);
  const int64_t states = settings_.layers * settings_.directions;
  const std::vector<int64_t> state_sizes = {states, sequences, hidden_};
  if (input.size(2) != inputs_ || hidden.sizes() != state_sizes) return {};
  if (memory_before != nullptr && (!IsPlain(*memory_before, 3) || memory_before->sizes() != state_sizes)) return {};
  const bool by_cells = forms_ == kCellForms && steps > 0 && sequences > 0;
  const auto prepared = by_cells ? nullptr : prepared_->Find({steps, sequences, at::get_num_threads()});
  if (prepared == nullptr && !by_cells) return {};

  const at::Tensor before = hidden.contiguous(),
                   memory_of_before = memory_before == nullptr ? at::Tensor() : memory_before->contiguous();
  Results results{.output = {}, .hidden = at::empty(state_sizes, at::kFloat), .memory = {}};
  if (settings_.has_memory) results.memory = at::empty(state_sizes, at::kFloat);
  at::Tensor sequence = settings_.batch_first ? input.transpose(0, 1).contiguous() : input.contiguous();
  sequence = by_cells ? RunCells(settings_, packed_, std::move(sequence), before,
                                 memory_before == nullptr ? nullptr : &memory_of_before, results)
                      : RunPrimitives(*prepared, std::move(sequence), before, memory_of_before, results);
  results.output = settings_.batch_first ? sequence.transpose(0, 1) : std::move(sequence);
  return results;
}

at::Tensor Recurrence::RunPrimitives(const RecurrentLayers& prepared, at::Tensor sequence, const at::Tensor& before,
                                     const at::Tensor& memory_before, Results& results) const {
  const int64_t steps = sequence.size(0), sequences = sequence.size(1);
  const DenormalsAreZero fast;
  dnnl::stream stream(Engine());
  for (size_t i = 0; i < prepared.layers.size(); ++i) {
    const RecurrentLayers::Layer& layer = prepared.layers[i];
    at::Tensor output = at::empty({steps, sequences, settings_.directions * hidden_}, at::kFloat);
    const at::Tensor scratch = at::empty({static_cast<int64_t>(layer.scratch.get_size())}, at::kByte);
    const auto view = [](const memory::desc& form, const void* bytes) {
      return memory(form, Engine(), const_cast<void*>(bytes));
    };
    const int64_t offset = static_cast<int64_t>(i) * settings_.directions * sequences * hidden_;
    const auto state = [&](const at::Tensor& all) {
      return view(layer.state, static_cast<const float*>(all.const_data_ptr()) + offset);
    };
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC_LAYER, view(layer.input, sequence.const_data_ptr())},
        {DNNL_ARG_SRC_ITER, state(before)},
        {DNNL_ARG_WEIGHTS_LAYER, view(layer.of_input, packed_[3 * i].const_data_ptr())},
        {DNNL_ARG_WEIGHTS_ITER, view(layer.of_state, packed_[3 * i + 1].const_data_ptr())},
        {DNNL_ARG_BIAS, view(layer.bias, packed_[3 * i + 2].const_data_ptr())},
        {DNNL_ARG_DST_LAYER, view(layer.output, output.const_data_ptr())},
        {DNNL_ARG_DST_ITER, state(results.hidden)},
        {DNNL_ARG_SCRATCHPAD, view(layer.scratch, scratch.const_data_ptr())}};
    if (settings_.has_memory) {
      arguments.emplace(DNNL_ARG_SRC_ITER_C, state(memory_before));
      arguments.emplace(DNNL_ARG_DST_ITER_C, state(results.memory));
    }
    try {
      layer.primitive.execute(stream, arguments);
      stream.wait();
    } catch (const dnnl::error& error) {
      TORCH_CHECK(false, "oneDNN cannot compute a recurrent layer: ", error.what());
    }
    sequence = std::move(output);
  }
  return sequence;
}

c10::IValue Recurrence::Wrap(c10::intrusive_ptr<Recurrence> recurrence) {
  return c10::IValue::make_capsule(std::move(recurrence));
}

const Recurrence* Recurrence::Unwrap(const c10::IValue& value) {
  if (!value.isCapsule()) return nullptr;
  return dynamic_cast<const Recurrence*>(value.toCapsule().get());
}

}  // namespace hearth::libraries
