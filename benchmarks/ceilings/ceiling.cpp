// Runs one network as it would be written by hand: primitives of oneDNN made beforehand, with what follows a product
// inside of it, weights in the form that the primitive likes best, activations in one arena by their lifetimes; or, for
// small fully connected layers, loops of our own. networks.py says which steps a network has. For ctypes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "benchmarks/peak.h"

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Json = nlohmann::json;
using Dims = memory::dims;
using Descriptor = memory::desc;

constexpr size_t kAlignment = 64;

// A value of the network: bytes of the arena, or of another value that it is a view of.
struct Value {
  Descriptor form;
  std::string memory;  // whose it is; itself if it is no view
  size_t offset = 0;   // in bytes, within that
};

struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> constants;
  std::vector<std::pair<int, std::string>> arguments;  // values
  std::unordered_map<int, memory> bound;
};

// One of fully connected layers of one width, relu between them. The weight is a row of outputs for each input.
using Vector = float __attribute__((vector_size(64)));
constexpr int kWidth = 64;

void Layer(const float* weight, const float* bias, const float* in, float* out, bool last) {
  constexpr int kVectors = kWidth / 16;
  Vector even[kVectors], odd[kVectors];
  std::memcpy(even, bias, sizeof(even));
  for (Vector& sum : odd) sum = Vector{};
  for (int k = 0; k < kWidth; k += 2) {
    const Vector* const row = reinterpret_cast<const Vector*>(weight + k * kWidth);
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) even[i] += in[k] * row[i];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) odd[i] += in[k + 1] * row[kVectors + i];
  }
  for (int i = 0; i < kVectors; ++i) {
    Vector sum = even[i] + odd[i];
    if (!last) sum = sum > 0 ? sum : Vector{};
    reinterpret_cast<Vector*>(out)[i] = sum;
  }
}

class Network {
 public:
  Network(const Json& network, const float* weights)
      : weights_(weights),
        blocked_(network.at("layout") == "blocked"),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_) {
    input_ = network.at("input");
    output_ = network.at("output");
    Define(input_, Plain(network.at("input_dims").get<Dims>()));
    for (const Json& step : network.at("steps")) Add(step);
    output_ = Reordered(output_, Plain(FormOf(output_).get_dims()));
    Plan();
  }

  void Run(const float* input, float* output) {
    if (!layers_.empty()) return RunLayers(input, output);
    std::memcpy(arena_.get() + offsets_.at(input_), input, values_.at(input_).form.get_size());
    for (Step& step : steps_) step.primitive.execute(stream_, step.bound);
    stream_.wait();
    const Value& answer = values_.at(output_);
    std::memcpy(output, arena_.get() + offsets_.at(answer.memory) + answer.offset, answer.form.get_size());
  }

 private:
  static Descriptor Plain(const Dims& dims) {
    Dims strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    return {dims, memory::data_type::f32, strides};
  }
  static Descriptor Any(const Dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }
  // Of an image that a step writes. Blocks are as wide as a vector: for others oneDNN has no kernels but its reference.
  Descriptor Image(const Dims& dims) const {
#ifdef __AVX512F__
    constexpr auto kBlocks = memory::format_tag::nChw16c;
#else
    constexpr auto kBlocks = memory::format_tag::nChw8c;
#endif
    return {dims, memory::data_type::f32, blocked_ ? kBlocks : memory::format_tag::nhwc};
  }

  // Of the network's input, as its first convolution wants it.
  Descriptor First(const Dims& dims) const { return blocked_ ? Any(dims) : Image(dims); }

  void Define(const std::string& name, const Descriptor& form) {
    if (!values_.try_emplace(name, Value{form, name}).second) throw std::runtime_error("there is a " + name);
  }
  const Descriptor& FormOf(const std::string& name) const { return values_.at(name).form; }

  memory Constant(const Json& constant) {
    const Dims dims = constant.at("dims").get<Dims>();
    return {Plain(dims), engine_, const_cast<float*>(weights_ + constant.at("offset").get<size_t>())};
  }
  memory ConstantAs(const Json& constant, const Descriptor& form) {
    memory plain = Constant(constant);
    memory made(form, engine_);
    dnnl::reorder(plain, made).execute(stream_, plain, made);
    stream_.wait();
    return made;
  }

  // The value in this form: itself, or what a step more writes.
  std::string Reordered(const std::string& name, const Descriptor& form) {
    if (FormOf(name) == form) return name;
    const std::string made = name + " reordered";
    Define(made, form);
    steps_.push_back({dnnl::reorder(dnnl::reorder::primitive_desc(engine_, FormOf(name), engine_, form)),
                      {},
                      {{DNNL_ARG_FROM, name}, {DNNL_ARG_TO, made}}});
    return made;
  }

  static dnnl::primitive_attr Following(const Json& step) {
    dnnl::post_ops following;
    if (step.value("adds", false)) following.append_sum();
    const std::string function = step.value("function", "");
    if (function == "relu") following.append_eltwise(algorithm::eltwise_relu, 0, 0);
    if (function == "gelu") following.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    if (function == "hardswish") following.append_eltwise(algorithm::eltwise_hardswish, 1.0f / 6, 0.5f);
    if (function == "hardsigmoid") following.append_eltwise(algorithm::eltwise_hardsigmoid, 1.0f / 6, 0.5f);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(following);
    return attributes;
  }

  // Where a step that adds writes: to the value that is there.
  Descriptor Target(const Json& step, const Descriptor& form) const {
    const auto there = values_.find(step.at("out"));
    return there == values_.end() ? form : there->second.form;
  }
  void Wrote(const Json& step, const Descriptor& form) {
    if (!values_.contains(step.at("out"))) Define(step.at("out"), form);
  }

  void Add(const Json& step) {
    static const std::map<std::string, void (Network::*)(const Json&)> kSteps = {
        {"convolution", &Network::AddConvolution},
        {"pool", &Network::AddPool},
        {"linear", &Network::AddLinear},
        {"product", &Network::AddProduct},
        {"binary", &Network::AddBinary},
        {"softmax", &Network::AddSoftmax},
        {"layer_norm", &Network::AddLayerNorm},
        {"constant", &Network::AddConstant},
        {"view", &Network::AddView},
        {"space", &Network::AddSpace},
        {"layer", &Network::AddLayer}};
    (this->*kSteps.at(step.at("step")))(step);
  }

  void AddConvolution(const Json& step) {
    const Descriptor& in = FormOf(step.at("in"));
    const Dims weight = step.at("weight").at("dims").get<Dims>(), stride = step.at("stride").get<Dims>(),
               pad = step.at("pad").get<Dims>();
    const bool grouped = weight.size() == 5;
    const Dims size = in.get_dims();
    const auto out_of = [&](int i) {
      return (size[2 + i] + 2 * pad[i] - weight[weight.size() - 2 + i]) / stride[i] + 1;
    };
    const Dims out{size[0], grouped ? weight[0] * weight[1] : weight[0], out_of(0), out_of(1)};
    const dnnl::convolution_forward::primitive_desc made(
        engine_, prop_kind::forward_inference, algorithm::convolution_direct,
        step.at("in") == input_ ? First(size) : in, Any(weight), Any({out[1]}), Target(step, Image(out)), stride, pad,
        pad, Following(step));
    const std::string source = Reordered(step.at("in"), made.src_desc());
    Wrote(step, made.dst_desc());
    steps_.push_back({dnnl::convolution_forward(made),
                      {{DNNL_ARG_WEIGHTS, ConstantAs(step.at("weight"), made.weights_desc())},
                       {DNNL_ARG_BIAS, ConstantAs(step.at("bias"), made.bias_desc())}},
                      {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, step.at("out")}}});
  }

  void AddPool(const Json& step) {
    const Descriptor& in = FormOf(step.at("in"));
    const Dims size = in.get_dims(), window = step.at("window").get<Dims>(), stride = step.at("stride").get<Dims>(),
               pad = step.at("pad").get<Dims>();
    const auto out_of = [&](int i) { return (size[2 + i] + 2 * pad[i] - window[i]) / stride[i] + 1; };
    const Dims out{size[0], size[1], out_of(0), out_of(1)};
    const bool max = step.at("function") == "max";
    const dnnl::pooling_forward::primitive_desc made(
        engine_, prop_kind::forward_inference, max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
        in, Image(out), stride, window, {0, 0}, pad, pad);
    Wrote(step, made.dst_desc());
    steps_.push_back(
        {dnnl::pooling_forward(made), {}, {{DNNL_ARG_SRC, step.at("in")}, {DNNL_ARG_DST, step.at("out")}}});
  }

  void AddLinear(const Json& step) {
    const Descriptor& in = FormOf(step.at("in"));
    const Dims weight = step.at("weight").at("dims").get<Dims>();
    const Descriptor out = Target(step, Plain({in.get_dims()[0], weight[1]}));
    const dnnl::matmul::primitive_desc made(engine_, in, Any(weight), Plain({1, weight[1]}), out, Following(step));
    Wrote(step, made.dst_desc());
    steps_.push_back({dnnl::matmul(made),
                      {{DNNL_ARG_WEIGHTS, ConstantAs(step.at("weight"), made.weights_desc())},
                       {DNNL_ARG_BIAS, ConstantAs(step.at("bias"), Plain({1, weight[1]}))}},
                      {{DNNL_ARG_SRC, step.at("in")}, {DNNL_ARG_DST, step.at("out")}}});
  }

  void AddProduct(const Json& step) {
    const Descriptor &a = FormOf(step.at("in")), &b = FormOf(step.at("with"));
    Dims out = a.get_dims();
    out.back() = b.get_dims().back();
    const dnnl::matmul::primitive_desc made(engine_, a, b, Target(step, Plain(out)));
    Wrote(step, made.dst_desc());
    steps_.push_back(
        {dnnl::matmul(made),
         {},
         {{DNNL_ARG_SRC, step.at("in")}, {DNNL_ARG_WEIGHTS, step.at("with")}, {DNNL_ARG_DST, step.at("out")}}});
  }

  void AddBinary(const Json& step) {
    const bool has_constant = step.contains("constant");
    const memory constant = has_constant ? Constant(step.at("constant")) : memory();
    const Descriptor &a = FormOf(step.at("in")), b = has_constant ? constant.get_desc() : FormOf(step.at("with"));
    const bool multiplies = step.at("function") == "multiply";
    const dnnl::binary::primitive_desc made(engine_, multiplies ? algorithm::binary_mul : algorithm::binary_add, a, b,
                                            Target(step, a));
    Wrote(step, made.dst_desc());
    Step added{dnnl::binary(made), {}, {{DNNL_ARG_SRC_0, step.at("in")}, {DNNL_ARG_DST, step.at("out")}}};
    if (has_constant) {
      added.constants.emplace(DNNL_ARG_SRC_1, constant);
    } else {
      added.arguments.emplace_back(DNNL_ARG_SRC_1, step.at("with"));
    }
    steps_.push_back(std::move(added));
  }

  void AddSoftmax(const Json& step) {
    const Descriptor& in = FormOf(step.at("in"));
    const dnnl::softmax_forward::primitive_desc made(engine_, prop_kind::forward_inference, algorithm::softmax_accurate,
                                                     in, in, in.get_ndims() - 1);
    Wrote(step, made.dst_desc());
    steps_.push_back(
        {dnnl::softmax_forward(made), {}, {{DNNL_ARG_SRC, step.at("in")}, {DNNL_ARG_DST, step.at("out")}}});
  }

  void AddLayerNorm(const Json& step) {
    const Descriptor& in = FormOf(step.at("in"));
    const dnnl::layer_normalization_forward::primitive_desc made(
        engine_, prop_kind::forward_inference, in, Target(step, in), step.at("epsilon").get<float>(),
        dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
    Wrote(step, made.dst_desc());
    const Dims channels{in.get_dims().back()};
    steps_.push_back({dnnl::layer_normalization_forward(made),
                      {{DNNL_ARG_SCALE, ConstantAs(step.at("weight"), Plain(channels))},
                       {DNNL_ARG_SHIFT, ConstantAs(step.at("bias"), Plain(channels))}},
                      {{DNNL_ARG_SRC, step.at("in")}, {DNNL_ARG_DST, step.at("out")}}});
  }

  // Numbers that are the same in every run, written to where others are not.
  void AddConstant(const Json& step) {
    const memory constant = Constant(step.at("value"));
    Wrote(step, constant.get_desc());
    const dnnl::reorder::primitive_desc made(engine_, constant.get_desc(), engine_, FormOf(step.at("out")));
    steps_.push_back({dnnl::reorder(made), {{DNNL_ARG_FROM, constant}}, {{DNNL_ARG_TO, step.at("out")}}});
  }

  // Other sizes and strides over the same bytes.
  void AddView(const Json& step) {
    const Descriptor form(step.at("dims").get<Dims>(), memory::data_type::f32, step.at("strides").get<Dims>());
    const Value& of = values_.at(step.at("in"));
    values_.emplace(step.at("out"),
                    Value{form, of.memory, of.offset + step.at("offset").get<size_t>() * sizeof(float)});
  }

  // For what is written piece by piece, through views.
  void AddSpace(const Json& step) { Define(step.at("out"), Plain(step.at("dims").get<Dims>())); }

  void AddLayer(const Json& step) {
    layers_.push_back(
        {ConstantAs(step.at("weight"), Plain({kWidth, kWidth})), ConstantAs(step.at("bias"), Plain({kWidth}))});
  }

  void RunLayers(const float* input, float* output) {
    alignas(kAlignment) float buffers[2][kWidth];
    std::memcpy(buffers[0], input, sizeof(buffers[0]));
    for (size_t i = 0; i < layers_.size(); ++i) {
      Layer(static_cast<const float*>(layers_[i].first.get_data_handle()),
            static_cast<const float*>(layers_[i].second.get_data_handle()), buffers[i % 2], buffers[(i + 1) % 2],
            i + 1 == layers_.size());
    }
    std::memcpy(output, buffers[layers_.size() % 2], sizeof(buffers[0]));
  }

  // Places for all values, the first that is free for as long as each is needed, and the steps' arguments in them.
  void Plan() {
    struct Need {
      size_t first, last, size;
    };
    std::map<std::string, Need> needs;
    std::vector<std::string> order;
    const auto use = [&](const std::string& name, size_t at) {
      const std::string& whose = values_.at(name).memory;
      auto [need, is_new] = needs.try_emplace(whose, Need{at, at, values_.at(whose).form.get_size()});
      if (is_new) order.push_back(whose);
      need->second.last = at;
    };
    use(input_, 0);
    for (size_t at = 0; at < steps_.size(); ++at) {
      for (const auto& [argument, name] : steps_[at].arguments) use(name, at);
    }
    use(output_, steps_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const Need& need = needs.at(order[i]);
      std::vector<std::pair<size_t, size_t>> taken;
      for (size_t k = 0; k < i; ++k) {
        const Need& other = needs.at(order[k]);
        if (other.first <= need.last && need.first <= other.last) {
          taken.emplace_back(offsets_.at(order[k]), offsets_.at(order[k]) + other.size);
        }
      }
      std::ranges::sort(taken);
      size_t offset = 0;
      for (const auto& [begin, end] : taken) {
        if (offset + need.size <= begin) break;
        offset = std::max(offset, (end + kAlignment - 1) / kAlignment * kAlignment);
      }
      offsets_[order[i]] = offset;
      arena_size_ = std::max(arena_size_, offset + need.size);
    }
    const size_t whole = (arena_size_ + kAlignment - 1) / kAlignment * kAlignment;
    arena_.reset(static_cast<char*>(std::aligned_alloc(kAlignment, std::max(whole, kAlignment))));
    std::memset(arena_.get(), 0, whole);
    for (Step& step : steps_) {
      step.bound = step.constants;
      for (const auto& [argument, name] : step.arguments) {
        const Value& value = values_.at(name);
        step.bound.emplace(argument,
                           memory(value.form, engine_, arena_.get() + offsets_.at(value.memory) + value.offset));
      }
    }
  }

  const float* const weights_;
  const bool blocked_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::string input_, output_;
  std::map<std::string, Value> values_;
  std::vector<Step> steps_;
  std::vector<std::pair<memory, memory>> layers_;
  std::map<std::string, size_t> offsets_;
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<char, Free> arena_;
  size_t arena_size_ = 0;
};

thread_local std::string error;

}  // namespace

extern "C" {

// The network that the JSON text describes; it refers to the weights. Null: ceiling_error says why.
void* ceiling_make(const char* text, const float* weights) try {
  return new Network(Json::parse(text), weights);
} catch (const std::exception& caught) {
  error = caught.what();
  return nullptr;
}

const char* ceiling_error() { return error.c_str(); }

void ceiling_run(void* network, const float* input, float* output) {
  static_cast<Network*>(network)->Run(input, output);
}

// The median time of a run, in nanoseconds, of as many as fit into `milliseconds`.
double ceiling_time(void* network, const float* input, float* output, double milliseconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<int64_t> times;
  const auto end = Clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
  while (times.size() < 3 || Clock::now() < end) {
    const auto begin = Clock::now();
    static_cast<Network*>(network)->Run(input, output);
    times.push_back((Clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return static_cast<double>(times[times.size() / 2]);
}

// What one thread of this processor multiplies and adds at most, in operations a nanosecond; the best of some tries.
double ceiling_peak() {
  constexpr int kTries = 500;
  double best = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const hearth::benchmarks::Work work = hearth::benchmarks::MultiplyAndAddForAWhile();
    best = std::max(best, static_cast<double>(work.operations) / work.time.count());
  }
  return best;
}

void ceiling_free(void* network) { delete static_cast<Network*>(network); }

}  // extern "C"
