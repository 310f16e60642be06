#include "jit/passes/fuse_gpu_convolutions.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/private_memory.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/activation_call.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/operators/registry.h"
#include "jit/passes/gpu_kernels.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

const Symbol kConvolutionRelu = Symbol::fromQualString("aten::cudnn_convolution_relu");
const Symbol kConvolutionAddRelu = Symbol::fromQualString("aten::cudnn_convolution_add_relu");
const Symbol kGroupedLinear = Symbol::fromQualString("hearth::grouped_linear");

constexpr size_t kBias = 2;   // among a convolution's operands
constexpr size_t kAdded = 5;  // among those of hearth::group_scales

bool AreAll(const std::vector<int64_t>& numbers, int64_t number) {
  return std::ranges::all_of(numbers, [&](int64_t each) { return each == number; });
}

// Of tiles of the image, as models begin that cut it into patches, with so few channels that cuDNN has no kernel for
// tensor cores.
bool IsOfTiles(const ConvolutionCall& call) {
  return call.groups == 1 && !call.IsOfPixels() && AreAll(call.padding, 0) && AreAll(call.dilation, 1) &&
         call.stride[0] == call.weight.size(2) && call.stride[1] == call.weight.size(3) && call.weight.size(1) % 8 != 0;
}

// Of single pixels in groups that tensor cores take as they are: cuDNN computes these group by group.
bool IsOfGroups(const ConvolutionCall& call) {
  return call.groups > 1 && call.IsOfSinglePixels() && call.weight.size(1) % 8 == 0 &&
         call.weight.size(0) / call.groups % 8 == 0;
}

bool IsOnePixel(const ValueFacts& image) {
  return image.sizes && image.sizes->size() == 4 && (*image.sizes)[2] == KnownSize(1) &&
         (*image.sizes)[3] == KnownSize(1);
}

// Whether the channels of each pixel lie one after the other.
bool LiesInPixels(const ValueFacts& image) { return image.order.is_channels_last() || IsOnePixel(image); }

class GpuFuser {
 public:
  explicit GpuFuser(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, compilation.facts()),
        memory_(compilation.memory()),
        private_(graph_, compilation.memory().aliases()),
        derived_(*compilation.weights()),
        fuses_(MakesGpuKernels(compilation)) {}

  bool Run() {
    const std::vector<Node*> found = NodesOutsideClosures(*graph_.block(), [](const Node& node) {
      return node.op() != nullptr && (ConvolutionCall::Of(node) || TransposedConvolutionCall::Of(node));
    });
    // The last first: of two that are added, the addition goes to the one that is computed later.
    for (Node* node : found | std::views::reverse) {
      const std::optional<ConvolutionCall> call = ConvolutionCall::Of(*node);
      const at::Tensor weight = call ? call->weight : TransposedConvolutionCall::Of(*node)->weight;
      if (!Suits(*node, weight)) continue;
      if (call) {
        Fuse(node, *call);
      } else if (fuses_ && !ConstantOf(*node->input(kBias))->isNone()) {
        PeelBias(node);
      }
    }
    return changed_;
  }

 private:
  // Whether it is of images that nobody writes, in half precision.
  bool Suits(const Node& node, const at::Tensor& weight) const {
    const ValueFacts& image = facts_.Of(*node.input(0));
    return image.is_tensor() && image.plain && image.rank() == 4u && image.device && image.dtype &&
           image.dtype == weight.scalar_type() && target_.FusesConvolutions(*image.device, *image.dtype) &&
           !memory_.MayBeWritten(*node.input(0));
  }

  void Fuse(Node* node, const ConvolutionCall& call) {
    const ValueFacts& image = facts_.Of(*node->input(0));
    // As in squeeze-and-excitation: a library of products has kernels for few rows.
    if ((IsOnePixel(image) || IsOfTiles(call)) && TryLinear(node, call)) return;
    if (IsOfGroups(call) && TryGroups(node, call)) return;
    if (call.groups == 1 && (TryRelu(node, call) || TryAddition(node, call))) return;
    if (ConstantOf(*node->input(kBias))->isNone()) return;
    if (!TryLinear(node, call) && fuses_) PeelBias(node);
  }

  // The only user of what the node gives, in its block, if its own result may be the node's.
  Node* OnlyUser(const Node& node) const {
    const std::vector<Use>& uses = node.output()->uses();
    if (uses.size() != 1 || uses[0].user->block() != node.block()) return nullptr;
    Node* user = uses[0].user;
    if (user->op() == nullptr || user->outputs().size() != 1) return nullptr;
    return private_.IsPrivateWrite(*user) || !private_.IsShared(*user->output()) ? user : nullptr;
  }

  bool TryRelu(Node* node, const ConvolutionCall& call) {
    Node* relu = OnlyUser(*node);
    if (relu == nullptr || EpilogueOf(*relu) != "relu") return false;
    Make(node, relu, kConvolutionRelu, {node->input(0), node->input(1)}, call);
    node->Destroy();
    return true;
  }

  bool TryAddition(Node* node, const ConvolutionCall& call) {
    Node* sum = OnlyUser(*node);
    if (sum == nullptr || !IsAddition(*sum)) return false;
    Node* relu = OnlyUser(*sum);
    Value* other = sum->input(sum->input(0) == node->output() ? 1 : 0);
    if (relu == nullptr || EpilogueOf(*relu) != "relu" || !CanAdd(*other, *node->output(), *node->input(0)))
      return false;
    const InsertionGuard here(&graph_, sum);
    Value* one = edits_.Constant(int64_t{1});
    Make(sum, relu, kConvolutionAddRelu, {node->input(0), node->input(1), other, one}, call, node->input(kBias));
    sum->Destroy();
    node->Destroy();
    return true;
  }
  static bool IsAddition(const Node& node) {
    const OperatorDefinition* in_place = FindInPlace(node.kind());
    const bool adds = node.kind() == c10::aten::add || (in_place != nullptr && in_place->name == "aten::add");
    return adds && node.op()->schema().overload_name() == "Tensor" && IntegerOf(*node.input(2)) == 1;
  }
  // To what a convolution of `image` gives, which is of its dtype and on its device.
  bool CanAdd(const Value& other, const Value& convolved, const Value& image) const {
    const ValueFacts &a = facts_.Of(other), &of_image = facts_.Of(image);
    const std::optional<KnownSizes>& sizes = facts_.Of(convolved).sizes;
    return &other != &convolved && a.is_tensor() && a.plain && a.dtype == of_image.dtype &&
           a.device == of_image.device && a.sizes && a.sizes == sizes &&
           std::ranges::all_of(*sizes, &KnownSize::is_known) && a.order.is_channels_last() &&
           !memory_.MayBeWritten(other);
  }

  // The call of cuDNN in the place of `node`, for what `relu` gives.
  void Make(Node* node, Node* relu, Symbol symbol, std::vector<Value*> operands, const ConvolutionCall& call,
            Value* bias = nullptr) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    operands.push_back(bias != nullptr ? bias : node->input(kBias));
    for (const std::vector<int64_t>& setting : {call.stride, call.padding, call.dilation}) {
      operands.push_back(edits_.Constant(setting));
    }
    operands.push_back(edits_.Constant(call.groups));
    Value* made = OperateInstead(graph_, *OperatorRegistry::Global().Find(symbol, ""), operands, *relu);
    Replace(relu, made);
    changed_ = true;
  }

  bool TryLinear(Node* node, const ConvolutionCall& call) {
    const ValueFacts& of_input = facts_.Of(*node->input(0));
    if (IsOfTiles(call)) {
      if (!AreTiled(of_input, call) || !facts_.Of(*node->output()).order.is_channels_last()) return false;
    } else if (!call.IsOfPixels() || !LiesInPixels(of_input)) {
      return false;
    }
    Node* relu = IsOnePixel(of_input) ? OnlyUser(*node) : nullptr;
    Node* last = relu != nullptr && EpilogueOf(*relu) == "relu" ? relu : node;
    const std::vector<at::Tensor> matrix = derived_.Get("matrix of windows", {call.weight}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector<at::Tensor>{call.weight.detach().reshape({call.weight.size(0), -1})};
    });
    if (matrix.empty()) return false;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* windows = IsOfTiles(call) ? Tiles(node, call) : Permuted(node->input(0), {0, 2, 3, 1}, node);
    Value* layer = edits_.Infer(
        Operate(graph_, c10::aten::linear, "", {windows, edits_.Constant(matrix.front()), node->input(kBias)}, node));
    if (last != node) layer = edits_.Infer(Operate(graph_, c10::aten::relu, "", {layer}, last));
    ReplaceByImage(last, layer);
    if (last != node) node->Destroy();
    return changed_ = true;
  }

  bool TryGroups(Node* node, const ConvolutionCall& call) {
    // Of an image in another order cuDNN makes one in this order first, too.
    if (!facts_.Of(*node->output()).order.is_channels_last() && !IsOnePixel(facts_.Of(*node->input(0)))) return false;
    const std::vector<at::Tensor> matrices =
        derived_.Get(c10::str("matrices of ", call.groups, " groups"), {call.weight}, [&] {
          const at::NoGradGuard no_gradients;
          const at::Tensor layers = call.weight.detach().reshape({call.groups, -1, call.weight.size(1)});
          return std::vector<at::Tensor>{layers.transpose(1, 2).contiguous()};
        });
    if (matrices.empty()) return false;
    Node* bare = ConstantOf(*node->input(kBias))->isNone() ? node : PeelBias(node);
    if (bare == nullptr) return false;
    const InsertionGuard here(&graph_, bare);
    graph_.SetCurrentRange(bare->range());
    Value* pixels = Permuted(bare->input(0), {0, 2, 3, 1}, bare);
    if (!LiesInPixels(facts_.Of(*bare->input(0)))) pixels = edits_.Contiguous(pixels, bare);
    Value* layers =
        edits_.Infer(Operate(graph_, kGroupedLinear, "", {pixels, edits_.Constant(matrices.front())}, bare));
    ReplaceByImage(bare, layers);
    return changed_ = true;
  }

  // By the image whose pixels, [batch, rows, columns, channels], were computed.
  void ReplaceByImage(Node* node, Value* pixels) {
    Value* image =
        Operate(graph_, c10::aten::permute, "", {pixels, edits_.Constant(std::vector<int64_t>{0, 3, 1, 2})}, node);
    image->SetName(node->output()->name());
    Replace(node, image);
  }

  static bool AreTiled(const ValueFacts& image, const ConvolutionCall& call) {
    const KnownSize height = (*image.sizes)[2], width = (*image.sizes)[3];
    return height && width && *height > 0 && *width > 0 && *height % call.stride[0] == 0 &&
           *width % call.stride[1] == 0;
  }

  // The windows of a convolution of tiles, [batch, rows, columns, elements].
  Value* Tiles(Node* node, const ConvolutionCall& call) {
    const KnownSizes& sizes = *facts_.Of(*node->input(0)).sizes;
    const int64_t channels = call.weight.size(1), height = call.stride[0], width = call.stride[1];
    const int64_t rows = *sizes[2] / height, columns = *sizes[3] / width;
    const auto viewed = [&](Value* value, Symbol symbol, const std::vector<int64_t>& as) {
      return edits_.Infer(Operate(graph_, symbol, "", {value, edits_.Constant(as)}, node));
    };
    Value* apart = viewed(node->input(0), c10::aten::view, {-1, channels, rows, height, columns, width});
    Value* tiles = Permuted(apart, {0, 2, 4, 1, 3, 5}, node);
    return viewed(tiles, c10::aten::reshape, {-1, rows, columns, channels * height * width});
  }

  Value* Permuted(Value* value, const std::vector<int64_t>& dims, Node* like) {
    return edits_.Infer(Operate(graph_, c10::aten::permute, "", {value, edits_.Constant(dims)}, like));
  }

  // Gives the convolution without its bias; null, and nothing is changed, where there is no room for another bias.
  Node* PeelBias(Node* node) {
    const at::Tensor channels = ConstantOf(*node->input(kBias))->toTensor();
    at::Tensor bias = channels.detach().view({1, -1, 1, 1});
    std::vector<Node*> views;
    Node* user = OnlyUser(*node);
    Node* format_of = user != nullptr && MakesChannelsLast(*user) ? user : nullptr;
    // The addition comes after views, next to what is computed of them.
    for (Node* view = format_of != nullptr ? OnlyUser(*format_of) : user; view != nullptr; view = OnlyUser(*view)) {
      const at::Tensor viewed = SeenBy(*view, bias);
      if (!viewed.defined()) break;
      bias = viewed;
      views.push_back(view);
    }
    const std::vector<at::Tensor> of_images =
        derived_.Get("bias of images " + c10::str(bias.sizes()), {channels}, [&] { return std::vector{bias}; });
    if (of_images.empty()) return nullptr;

    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    std::vector<Value*> operands(node->inputs().begin(), node->inputs().end());
    operands[kBias] = edits_.Infer(graph_.InsertConstant({}, c10::NoneType::get()));
    Value* bare = edits_.Infer(OperateLike(graph_, *node, operands));
    Node* const convolution = bare->node();
    std::vector<Node*> replaced = {node};
    // LibTorch picks one of several libraries for a depthwise convolution, and with it the order of the result: who
    // asks for this one gets it before the addition.
    if (format_of != nullptr) {
      Value* format = edits_.Constant(static_cast<int64_t>(at::MemoryFormat::ChannelsLast));
      bare = edits_.Infer(OperateLike(graph_, *format_of, std::vector<Value*>{bare, format}));
      replaced.push_back(format_of);
    }
    for (Node* view : views) {
      graph_.SetInsertionPoint(view);
      std::vector<Value*> of_bare(view->inputs().begin(), view->inputs().end());
      of_bare[0] = bare;
      bare = edits_.Infer(OperateLike(graph_, *view, of_bare));
      replaced.push_back(view);
    }
    Node* last = replaced.back();
    graph_.SetInsertionPoint(last);
    Value* sum = Operate(graph_, c10::aten::add, "Tensor",
                         {bare, edits_.Constant(of_images.front()), edits_.Constant(int64_t{1})}, node);
    sum->SetName(last->output()->name());
    Value* const added = node->input(kBias);
    edits_.Infer(sum);
    last->output()->ReplaceAllUsesWith(sum);
    for (size_t i = replaced.size(); i-- > 0;) replaced[i]->Destroy();
    if (views.empty()) GiveToScales(sum, bare, added);
    changed_ = true;
    return convolution;
  }

  // What a bias of images, [1, channels, 1, 1] or a view of that, is in a view of the images; undefined where the node
  // is none that goes over to the bias.
  at::Tensor SeenBy(const Node& view, const at::Tensor& bias) const {
    const std::optional<KnownSizes>& sizes = facts_.Of(*view.output()).sizes;
    // Otherwise it may raise.
    if (!sizes) return {};
    if (view.kind() == c10::aten::permute) {
      const std::optional<std::vector<int64_t>> dims = IntegersOf(*view.input(1));
      return dims ? bias.permute(*dims) : at::Tensor();
    }
    if (view.kind() == c10::aten::squeeze) {
      const std::optional<int64_t> dim = view.inputs().size() == 2 ? IntegerOf(*view.input(1)) : std::nullopt;
      const bool drops_it = dim && sizes->size() + 1 == static_cast<size_t>(bias.dim());
      return drops_it ? bias.squeeze(*dim) : at::Tensor();
    }
    const bool is_transpose = view.kind() == c10::aten::transpose, is_flatten = view.kind() == c10::aten::flatten;
    const std::optional<int64_t> a = is_transpose || is_flatten ? IntegerOf(*view.input(1)) : std::nullopt;
    const std::optional<int64_t> b = a ? IntegerOf(*view.input(2)) : std::nullopt;
    if (!b) return {};
    if (is_transpose) return bias.transpose(*a, *b);
    // Channels stay channels.
    const int64_t first = c10::maybe_wrap_dim(*a, bias.dim()), last = c10::maybe_wrap_dim(*b, bias.dim());
    for (int64_t i = first; i <= last; ++i) {
      if (bias.size(i) != 1) return {};
    }
    return bias.flatten(first, last);
  }

  // What a group norm that follows needs of the sum's images is reduced of what it adds up, so that the sum itself is
  // never written.
  void GiveToScales(Value* sum, Value* bare, Value* added) {
    if (facts_.Of(*added).dtype != facts_.Of(*bare).dtype) return;
    // Of all before, as replacing changes them.
    const std::vector<Use> before(sum->uses().begin(), sum->uses().end());
    for (const auto& [user, offset] : before) {
      if (user->kind() != sym::kGroupScales || offset != 0 || !ConstantOf(*user->input(kAdded))->isNone()) continue;
      user->ReplaceInput(0, bare);
      user->ReplaceInput(kAdded, added);
    }
  }
  static bool MakesChannelsLast(const Node& node) {
    return node.kind() == c10::aten::contiguous &&
           IntegerOf(*node.input(1)) == static_cast<int64_t>(at::MemoryFormat::ChannelsLast);
  }

  void Replace(Node* node, Value* by) {
    edits_.Infer(by);
    node->output()->ReplaceAllUsesWith(by);
    node->Destroy();
  }

  const Target& target_;
  Graph& graph_;
  const ValueFactTable& facts_;
  const InferringEdits edits_;
  const WrittenMemory& memory_;
  const PrivateMemory private_;
  DerivedConstants& derived_;
  const bool fuses_;
  bool changed_ = false;
};

}  // namespace

bool FuseGpuConvolutions(Compilation& compilation) {
  return compilation.weights() != nullptr && GpuFuser(compilation).Run();
}

}  // namespace hearth
