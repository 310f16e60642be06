#include "jit/passes/recognize_attention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/swapped_dimensions.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/operators/attention_operands.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

const Symbol kAttention = Symbol::fromQualString("hearth::attention");

// Where the kernel leaves most of its lanes idle.
constexpr int64_t kFewestQueries = 8;
constexpr int64_t kWidestHead = 512;
// Of what LibTorch's kernels on a GPU take as it lies.
constexpr int64_t kWidestHeadOnGpu = 128;
constexpr int64_t kHeadsComeIn = 8;

struct Attention {
  Value* query = nullptr;
  Value* key = nullptr;  // transposed, unless `key_lies_as_query`
  Value* value = nullptr;
  const Value* products = nullptr;  // of queries and keys
  std::vector<Value*> biases;
  // The scores are added up to one bias as so many windows of as many images, the windows of an image together; null:
  // as they are.
  KnownSize windows;
  Value* mask = nullptr;  // that bias: of windows, and may be of one image
  double scale = 1;
  // What multiplies or divides the scores by a tensor that has one number for all keys of a query; null: nothing does.
  const Node* row_scaling = nullptr;
  size_t row_factor = 0;  // its operand
  bool key_lies_as_query = false;

  bool is_scaled() const { return scale != 1 || row_scaling != nullptr; }
};

bool IsProduct(const Node& node) {
  return node.op() != nullptr && (node.kind() == c10::aten::matmul || node.kind() == c10::aten::bmm) &&
         node.inputs().size() == 2;
}

class AttentionRecognizer {
 public:
  explicit AttentionRecognizer(Compilation& compilation)
      : graph_(compilation.graph()),
        target_(compilation.target()),
        facts_(compilation.facts()),
        pure_(compilation.pure_nodes()) {}

  bool Run() {
    const std::vector<Node*> products = NodesOutsideClosures(*graph_.block(), [this](const Node& node) {
      return IsProduct(node) && SoftmaxOf(node).kind() == c10::aten::softmax;
    });
    for (Node* product : products) {
      if (std::optional<Attention> attention = Match(*product)) Replace(product, *std::move(attention));
    }
    return changed_;
  }

 private:
  std::optional<Attention> Match(const Node& product) const {
    const Node& softmax = SoftmaxOf(product);
    if (!IsStep(*product.input(0)->node(), *product.block()) || !IsStep(softmax, *product.block()) ||
        !pure_.MayMove(product) || !IsSoftmaxOfRows(softmax)) {
      return {};
    }
    Attention attention;
    attention.value = product.input(1);
    if (!MatchScores(softmax.input(0), *product.block(), &attention)) return {};
    PeelQuery(&attention);
    PeelKey(&attention);
    const bool fits = FitsHeads(attention, product) && std::isfinite(attention.scale) && BiasesFit(attention) &&
                      (!IsOnGpu(product) || SuitsGpu(attention));
    return fits ? std::optional(std::move(attention)) : std::nullopt;
  }

  // The node that is one where the product's first operand is attention's weights, also where it is computed in float32
  // for a product in half precision.
  const Node& SoftmaxOf(const Node& product) const {
    const Node& node = *product.input(0)->node();
    const bool converts = node.kind() == c10::aten::to && node.op() != nullptr && IsSuitable(*node.output());
    return converts ? *node.input(0)->node() : node;
  }

  bool IsOnGpu(const Node& product) const { return facts_.Of(*product.output()).device->is_cuda(); }

  // Whether a node gives something that is on the way only.
  bool IsStep(const Node& node, const Block& block) const {
    return node.op() != nullptr && node.block() == &block && node.outputs().size() == 1 &&
           node.output()->uses().size() == 1 && pure_.MayMove(node) && !facts_.memory().MayBeWritten(*node.output());
  }

  bool IsSoftmaxOfRows(const Node& softmax) const {
    const std::optional<size_t> rank = facts_.Of(*softmax.input(0)).rank();
    const c10::IValue *dim = ConstantOf(*softmax.input(1)), *dtype = ConstantOf(*softmax.input(2));
    if (!rank || dim == nullptr || !dim->isInt() || dtype == nullptr || !IsSuitable(*softmax.input(0))) return false;
    const bool last = dim->toInt() == -1 || dim->toInt() == static_cast<int64_t>(*rank) - 1;
    return last && (dtype->isNone() || (dtype->isInt() && dtype->toInt() == static_cast<int64_t>(c10::kFloat)));
  }

  // Whether `scores` are scale * (query key) + biases, whose rank they have.
  bool MatchScores(Value* scores, const Block& block, Attention* attention) const {
    const Node& node = *scores->node();
    if (!IsStep(node, block) || !IsSuitable(*scores)) return false;
    if (IsProduct(node)) {
      attention->products = scores;
      attention->query = node.input(0);
      attention->key = node.input(1);
      return true;
    }
    if (const std::optional<double> factor = FactorOf(node)) {
      attention->scale *= *factor;
      return MatchScores(node.input(0), block, attention);
    }
    if (const std::optional<size_t> factor = RowFactorOf(node)) {
      if (attention->row_scaling != nullptr) return false;
      attention->row_scaling = &node;
      attention->row_factor = *factor;
      return MatchScores(node.input(1 - *factor), block, attention);
    }
    if (IsReshape(node)) return MatchWindows(node, block, attention);
    // What is scaled must not have a bias in it.
    if (node.kind() != c10::aten::add || node.inputs().size() != 3 || attention->is_scaled()) return false;
    if (attention->biases.size() == 2 || NumberOf(*node.input(2), facts_.memory()) != 1) return false;
    for (const size_t of_scores : {size_t{0}, size_t{1}}) {
      Attention with_bias = *attention;
      with_bias.biases.push_back(node.input(1 - of_scores));
      if (!MatchScores(node.input(of_scores), block, &with_bias)) continue;
      *attention = std::move(with_bias);
      return true;
    }
    return false;
  }

  static bool IsReshape(const Node& node) {
    return node.kind() == c10::aten::view || node.kind() == c10::aten::reshape;
  }

  // Whether the scores become windows of images for one addition: view(view(scores, [images, windows, ...]) + mask,
  // ...).
  bool MatchWindows(const Node& back, const Block& block, Attention* attention) const {
    const Node& sum = *back.input(0)->node();
    if (attention->mask != nullptr || attention->is_scaled() || !IsStep(sum, block) || sum.kind() != c10::aten::add ||
        sum.inputs().size() != 3 || NumberOf(*sum.input(2), facts_.memory()) != 1) {
      return false;
    }
    const Node& split = *sum.input(0)->node();
    if (!IsReshape(split) || !IsStep(split, block) || !IsSuitable(*sum.input(0)) || !IsSuitable(*sum.input(1)))
      return false;
    const KnownSizes &windows = *facts_.Of(*sum.input(0)).sizes, &scores = *facts_.Of(*back.output()).sizes;
    if (scores.empty() || windows.size() != scores.size() + 1 || !facts_.Of(*split.input(0)).sizes) return false;
    if (!AreEqual(facts_.sizes().Multiply(windows[0], windows[1]), scores[0]) ||
        !AreEqual(*facts_.Of(*split.input(0)).sizes, scores) ||
        !AreEqual({windows.begin() + 2, windows.end()}, {scores.begin() + 1, scores.end()})) {
      return false;
    }
    attention->windows = windows[1];
    attention->mask = sum.input(1);
    return windows[1].has_value() && MatchScores(split.input(0), block, attention);
  }

  static bool Scales(const Node& node) {
    return (node.kind() == c10::aten::mul || node.kind() == c10::aten::div) && node.op() != nullptr &&
           node.inputs().size() == 2;
  }

  // The operand that says for each row of the other one by what it is multiplied or divided.
  std::optional<size_t> RowFactorOf(const Node& node) const {
    if (!Scales(node)) return {};
    for (const size_t i : {size_t{1}, size_t{0}}) {
      const Value &factor = *node.input(i), &scores = *node.input(1 - i);
      if ((i == 0 && node.kind() == c10::aten::div) || !IsSuitable(factor) || !IsSuitable(scores)) continue;
      const KnownSizes &sizes = *facts_.Of(factor).sizes, &all = *facts_.Of(scores).sizes;
      if (Broadcasts(sizes, all) && sizes.back().value_or(0) == 1 && !facts_.memory().MayBeWritten(factor)) return i;
    }
    return {};
  }

  // Of a node that multiplies or divides its first operand.
  std::optional<double> FactorOf(const Node& node) const {
    if (!Scales(node)) return {};
    const bool divides = node.kind() == c10::aten::div;
    const std::optional<double> number = NumberOf(*node.input(1), facts_.memory());
    if (!number || !std::isfinite(*number) || *number == 0) return {};
    return divides ? 1 / *number : *number;
  }

  bool Peel(Value** value, double* scale) const {
    const Node& node = *(*value)->node();
    const std::optional<double> factor = FactorOf(node);
    if (!factor || !pure_.MayMove(node) || !IsSuitable(**value) || !IsSuitable(*node.input(0))) return false;
    *scale *= *factor;
    *value = node.input(0);
    return true;
  }

  void PeelQuery(Attention* attention) const {
    while (Peel(&attention->query, &attention->scale)) continue;
  }

  void PeelKey(Attention* attention) const {
    while (Peel(&attention->key, &attention->scale)) continue;
    const Node& node = *attention->key->node();
    if (node.kind() != c10::aten::transpose || !pure_.MayMove(node)) return;
    const std::optional<size_t> rank = facts_.Of(*node.input(0)).rank();
    if (!rank || *rank < 2 || !SwapsDimensions(node, *rank, *rank - 2, *rank - 1)) return;
    attention->key = node.input(0);
    attention->key_lies_as_query = true;
    while (Peel(&attention->key, &attention->scale)) continue;
  }

  bool IsSuitable(const Value& tensor) const {
    const ValueFacts& facts = facts_.Of(tensor);
    return facts.is_tensor() && facts.plain && facts.device && facts.dtype && facts.sizes &&
           (target_.HasAttention(*facts.device, *facts.dtype) || target_.FusesAttention(*facts.device, *facts.dtype));
  }

  bool FitsHeads(const Attention& attention, const Node& product) const {
    for (const Value* operand : {attention.query, attention.key, attention.value}) {
      if (!IsSuitable(*operand) || facts_.memory().MayBeWritten(*operand)) return false;
    }
    const KnownSizes &query = *facts_.Of(*attention.query).sizes, &key = *facts_.Of(*attention.key).sizes,
                     &value = *facts_.Of(*attention.value).sizes;
    const size_t rank = query.size();
    if (rank < 3 || key.size() != rank || value.size() != rank || !IsSuitable(*product.output())) return false;
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (!AreEqual(query[i], key[i]) || !AreEqual(query[i], value[i])) return false;
    }
    // Empty ones are the operators' own.
    const auto likely = [&](KnownSize size) { return facts_.sizes().Likely(size).value_or(kFewestQueries); };
    if (query.back().value_or(1) > kWidestHead || value.back().value_or(1) > kWidestHead) return false;
    return likely(query[rank - 2]) >= kFewestQueries;
  }

  // Whether LibTorch has a kernel of it, which scales scores before it looks for their maximum.
  bool SuitsGpu(const Attention& attention) const {
    const size_t rank = *facts_.Of(*attention.query).rank();
    if (rank > 4 || attention.scale <= 0) return false;
    const KnownSize width = facts_.Of(*attention.query).sizes->back();
    if (!width || *width % kHeadsComeIn != 0 || *width > kWidestHeadOnGpu) return false;
    if (!AreEqual(width, facts_.Of(*attention.value).sizes->back())) return false;
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (facts_.sizes().Likely((*facts_.Of(*attention.query).sizes)[i]).value_or(1) > sdpa::kMostBlocks) return false;
    }
    const size_t of_key = attention.key_lies_as_query ? rank - 1 : rank - 2;
    return HasInnermost(*attention.query, rank - 1) && HasInnermost(*attention.key, of_key) &&
           HasInnermost(*attention.value, rank - 1);
  }

  bool HasInnermost(const Value& tensor, size_t dimension) const {
    const PartOrder nested = facts_.Of(tensor).nested();
    return nested.is_known() && !nested.levels().empty() && nested.levels().back().dimension == dimension;
  }

  bool AreEqual(KnownSize a, KnownSize b) const { return facts_.sizes().AreEqual(a, b) == true; }
  bool AreEqual(const KnownSizes& a, const KnownSizes& b) const {
    return std::ranges::equal(a, b, [&](KnownSize one, KnownSize other) { return AreEqual(one, other); });
  }

  // Whether each broadcasts to the very sizes of the scores, of one image where they are windows of images.
  bool BiasesFit(const Attention& attention) const {
    KnownSizes scores = *facts_.Of(*attention.products).sizes;
    if (attention.mask != nullptr) {
      if (facts_.memory().MayBeWritten(*attention.mask)) return false;
      scores[0] = attention.windows;
      KnownSizes mask = *facts_.Of(*attention.mask).sizes;
      if (mask.size() > scores.size()) {
        if (mask.size() != scores.size() + 1 || mask[0].value_or(0) != 1) return false;
        mask.erase(mask.begin());
      }
      if (!Broadcasts(mask, scores)) return false;
    }
    const KnownSizes& all = *facts_.Of(*attention.products).sizes;
    return std::ranges::all_of(attention.biases, [&](const Value* bias) {
      return IsSuitable(*bias) && !facts_.memory().MayBeWritten(*bias) && Broadcasts(*facts_.Of(*bias).sizes, all) &&
             Broadcasts(*facts_.Of(*bias).sizes, scores);
    });
  }

  bool Broadcasts(const KnownSizes& sizes, const KnownSizes& all) const {
    if (sizes.size() < 2 || sizes.size() > all.size()) return false;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].value_or(0) != 1 && !AreEqual(sizes[i], all[i + all.size() - sizes.size()])) return false;
    }
    return true;
  }

  // The user of the result that swaps its tokens and heads, if nobody can tell in which order these lie in memory.
  Node* FindSwap(const Value& result) const {
    if (result.uses().size() != 1) return nullptr;
    Node* swap = result.uses()[0].user;
    const size_t rank = *facts_.Of(result).rank();
    if (rank < 3 || !pure_.MayMove(*swap) || !SwapsDimensions(*swap, rank, rank - 3, rank - 2)) return nullptr;
    const bool hidden = std::ranges::all_of(swap->output()->uses(), [&](const Use& use) {
      const Symbol kind = use.user->kind();
      const bool copies = kind == c10::aten::reshape || kind == c10::aten::contiguous || kind == c10::aten::flatten;
      return copies && use.offset == 0 && use.user->op() != nullptr;
    });
    return hidden && !facts_.memory().MayBeWritten(*swap->output()) ? swap : nullptr;
  }

  void Replace(Node* product, Attention attention) {
    const bool on_gpu = IsOnGpu(*product);
    Node* const swap = on_gpu ? nullptr : FindSwap(*product->output());
    Value* const before = swap != nullptr ? swap->output() : product->output();
    const InsertionGuard here(&graph_, product);
    graph_.SetCurrentRange(product->range());
    if (!attention.key_lies_as_query) {
      attention.key = Infer(
          Operate(graph_, c10::aten::transpose, "int",
                  {attention.key, graph_.InsertConstant(int64_t{-2}), graph_.InsertConstant(int64_t{-1})}, product));
    }
    if (const Node* scaling = attention.row_scaling) {
      attention.query = Infer(
          Operate(graph_, scaling->kind(), "Tensor", {attention.query, scaling->input(attention.row_factor)}, product));
    }
    Value* const bias = SumOfBiases(attention, product);
    Value* const result =
        on_gpu ? AttendOnGpu(attention, bias, product)
               : Infer(Operate(graph_, kAttention, "",
                               {attention.query, attention.key, attention.value, bias,
                                graph_.InsertConstant(attention.scale), graph_.InsertConstant(swap != nullptr)},
                               product));
    result->SetName(before->name());
    before->ReplaceAllUsesWith(result);
    if (swap != nullptr) swap->Destroy();
    changed_ = true;
    DestroyUnused(product);
  }

  // By LibTorch's operator, whose kernels there take four dimensions.
  Value* AttendOnGpu(const Attention& attention, Value* bias, Node* product) {
    const bool as_one_batch = facts_.Of(*attention.query).rank() == 3;
    Value* const first = graph_.InsertConstant(int64_t{0});
    const auto operand = [&](Value* heads) {
      return as_one_batch ? Infer(Operate(graph_, c10::aten::unsqueeze, "", {heads, first}, product)) : heads;
    };
    Value* const no = graph_.InsertConstant(false);
    Value* result = Infer(Operate(graph_, c10::aten::scaled_dot_product_attention, "",
                                  {operand(attention.query), operand(attention.key), operand(attention.value), bias,
                                   graph_.InsertConstant(0.0), no, graph_.InsertConstant(attention.scale), no},
                                  product));
    if (as_one_batch) result = Infer(Operate(graph_, c10::aten::squeeze, "dim", {result, first}, product));
    // A product's result is contiguous, and these have the tokens outside of the heads.
    if (!OrderMayShow(*product->output(), facts_)) return result;
    Value* const format = graph_.InsertConstant(static_cast<int64_t>(at::MemoryFormat::Contiguous));
    return Infer(Operate(graph_, c10::aten::contiguous, "", {result, format}, product));
  }

  // None where there is none.
  Value* SumOfBiases(const Attention& attention, Node* before) {
    std::vector<Value*> terms = attention.biases;
    if (attention.mask != nullptr) {
      const size_t rank = *facts_.Of(*attention.products).rank();
      const bool of_an_image = *facts_.Of(*attention.mask).rank() > rank;
      Value* const zero = graph_.InsertConstant(int64_t{0});
      terms.push_back(of_an_image
                          ? Infer(Operate(graph_, c10::aten::select, "int", {attention.mask, zero, zero}, before))
                          : attention.mask);
    }
    if (terms.empty()) return graph_.InsertConstant(c10::IValue());
    Value* sum = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      Value* const once = graph_.InsertConstant(int64_t{1});
      sum = Infer(Operate(graph_, c10::aten::add, "Tensor", {sum, terms[i], once}, before));
    }
    const KnownSizes &scores = *facts_.Of(*attention.products).sizes, &sizes = *facts_.Of(*sum).sizes;
    const bool fits = attention.mask == nullptr || sizes.size() < scores.size() || sizes[0].value_or(0) == 1 ||
                      AreEqual(sizes[0], scores[0]);
    return fits ? sum : ForAllImages(sum, attention, before);
  }

  // A bias of an image's windows, again for each image.
  Value* ForAllImages(Value* bias, const Attention& attention, Node* before) {
    Value* const zero = graph_.InsertConstant(int64_t{0});
    Value* const all = Infer(Operate(graph_, c10::aten::size, "int", {attention.query, zero}, before));
    Value* const windows = graph_.InsertConstant(*attention.windows);
    std::vector<Value*> times(*facts_.Of(*bias).rank(), graph_.InsertConstant(int64_t{1}));
    times[0] = Infer(Operate(graph_, c10::aten::floordiv, "int", {all, windows}, before));
    Node* list = graph_.Create(sym::kListConstruct, std::span<Value* const>(times), 1);
    list->output()->SetType(c10::ListType::ofInts());
    list->InsertBefore(before);
    facts_.Infer(*list);
    return Infer(Operate(graph_, c10::aten::repeat, "", {bias, list->output()}, before));
  }

  Value* Infer(Value* made) {
    facts_.Infer(*made->node());
    return made;
  }

  // The products and what is between them. They cannot raise: facts show the sizes.
  static void DestroyUnused(Node* node) {
    const std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
    node->Destroy();
    for (Value* input : inputs) {
      Node* maker = input->node();
      const Symbol kind = maker->kind();
      const bool on_the_way = kind == c10::aten::softmax || kind == c10::aten::add || kind == c10::aten::mul ||
                              kind == c10::aten::div || kind == c10::aten::transpose || kind == c10::aten::to ||
                              IsReshape(*maker) || IsProduct(*maker);
      if (on_the_way && maker->op() != nullptr && maker->outputs().size() == 1 && !input->HasUses())
        DestroyUnused(maker);
    }
  }

  Graph& graph_;
  const Target& target_;
  ValueFactTable& facts_;
  const PureNodes& pure_;
  bool changed_ = false;
};

}  // namespace

bool RecognizeAttention(Compilation& compilation) { return AttentionRecognizer(compilation).Run(); }

}  // namespace hearth
