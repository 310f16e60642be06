#include "jit/fuser/lowering/group_scales.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/fuser/ir/builder.h"
#include "jit/fuser/ir/scalar.h"

namespace hearth {
namespace {

using fuser::BufferId;
using fuser::KernelSignature;
using fuser::Reduction;
using fuser::Scalar;
using fuser::ValueId;

struct GroupedImages {
  int64_t channels, groups;
  // Null: as many as a call's images have.
  std::optional<int64_t> count, pixels;
  bool is_channels_last;

  int64_t width() const { return channels / groups; }
  // Of a group, in numbers.
  std::optional<int64_t> length() const { return pixels ? std::optional(width() * *pixels) : std::nullopt; }
};

// Groups that are longer are cut into strands, for more threads than one block has.
constexpr int64_t kLongestWhole = int64_t{1} << 13;
// Channels-last, of fewer channels a group's numbers are scattered, and what is read for one group is not for others.
constexpr int64_t kFewChannels = 8, kLongestScattered = int64_t{1} << 9;
// Of a strand: the most numbers; of all of them: how many keep a large GPU at work.
constexpr int64_t kLongestStrand = 32;
constexpr int64_t kManyStrands = int64_t{1} << 15;

// Memory as `count` blocks of `length` rows of `strands` numbers. A strand is a column: the threads of neighbouring
// strands read neighbouring numbers, and a strand's numbers are of one group.
struct Strands {
  int64_t count, length, strands;
};

// None where groups are short or of any length, or their numbers cannot be cut evenly.
std::optional<Strands> StrandsOf(const GroupedImages& images) {
  const bool is_scattered = images.is_channels_last && images.width() < kFewChannels;
  if (!images.count || !images.pixels || *images.length() <= (is_scattered ? kLongestScattered : kLongestWhole))
    return {};
  // Channels-last, a strand has numbers of one channel; else, of one group.
  const int64_t numbers = images.is_channels_last ? *images.pixels : *images.length();
  const int64_t side_by_side = images.is_channels_last ? images.channels : 1;
  const int64_t count = images.is_channels_last ? *images.count : *images.count * images.groups;
  int64_t length = 1;
  for (int64_t i = 2; i <= kLongestStrand; ++i) {
    const bool are_many = count * side_by_side * numbers / i >= kManyStrands;
    if (numbers % i == 0 && (are_many || length == 1)) length = i;
  }
  if (length == 1) return {};
  return Strands{count, length, numbers / length * side_by_side};
}

std::optional<GroupedImages> GroupedImagesOf(const Node& node, ValueFactTable& facts) {
  const ValueFacts& images = facts.Of(*node.input(0));
  const std::optional<int64_t> groups = IntegerOf(*node.input(1));
  if (!images.plain || images.rank() != 4u || !images.dtype || !KernelDtype(*images.dtype) || !groups) return {};
  const auto has_some = [&](KnownSize size) { return facts.sizes().IsAtLeast(size, 1); };
  const KnownSizes& sizes = *images.sizes;
  const std::optional<int64_t> channels = sizes[1].constant();
  if (!std::ranges::all_of(sizes, has_some) || !channels || *groups < 1 || *channels % *groups != 0) return {};
  const bool is_channels_last = images.order.is_channels_last();
  if (!is_channels_last && !images.order.is_default()) return {};
  std::optional<int64_t> pixels;
  if (sizes[2] && sizes[3]) pixels = *sizes[2] * *sizes[3];
  return GroupedImages{*channels, *groups, sizes[0].constant(), pixels, is_channels_last};
}

class ScalesLowering {
 public:
  ScalesLowering(const Node& node, ValueFactTable& facts, const GroupedImages& images)
      : node_(node), facts_(facts), images_(images) {}

  std::optional<LoweredGroup> Run() {
    const c10::IValue* epsilon = ConstantOf(*node_.input(4));
    if (epsilon == nullptr || !epsilon->isDouble()) return {};
    DeclareImages();
    const std::optional<BufferId> weight = DeclareChannels(*node_.input(2)), bias = DeclareChannels(*node_.input(3));
    added_ = DeclareChannels(*node_.input(5));
    const BufferId factors = DeclareScales(), offsets = DeclareScales();
    if (strands_) ReduceStrands();
    builder_.Parallel(all_groups_, [&](ValueId group) {
      const ValueId groups = Integer(images_.groups);
      const ValueId image = Call(fuser::Opcode::kFloorDivide, group, groups);
      const ValueId first =
          Call(fuser::Opcode::kMultiply, Call(fuser::Opcode::kRemainder, group, groups), Integer(images_.width()));
      const auto [mean, variance] = strands_ ? MomentsOfStrands(image, group, first) : Moments(image, group, first);
      const Scalar scale = 1 / SquareRoot(variance + epsilon->toDouble());
      builder_.Parallel(Integer(images_.width()), [&](ValueId i) {
        const ValueId channel = Call(fuser::Opcode::kAdd, first, i);
        const Scalar factor = weight ? scale * Loaded(*weight, {channel}) : scale;
        const Scalar shift = -mean * factor;
        builder_.Store(factors, {image, channel}, factor.id());
        builder_.Store(offsets, {image, channel}, (bias ? shift + Loaded(*bias, {channel}) : shift).id());
      });
    });
    return LoweredGroup{builder_.Finish(), std::move(signature_), std::move(operands_)};
  }

 private:
  ValueId Integer(int64_t value) { return builder_.Integer(value); }
  ValueId Call(fuser::Opcode opcode, ValueId a, ValueId b) { return builder_.Call(opcode, {a, b}); }
  Scalar Real(int64_t value) {
    return {builder_, builder_.Constant(fuser::Dtype::kFloat32, static_cast<double>(value))};
  }
  Scalar Loaded(BufferId buffer, std::initializer_list<ValueId> indices) {
    return Scalar(builder_, builder_.Load(buffer, indices)).To(fuser::Dtype::kFloat32);
  }

  // Of a group: the `i`-th of its numbers. `first`: its first channel.
  Scalar Number(ValueId image, ValueId group, ValueId first, ValueId i) {
    if (!images_.is_channels_last) {
      const ValueId channel = Call(fuser::Opcode::kAdd, first, Call(fuser::Opcode::kFloorDivide, i, pixels_));
      return WithAdded(Loaded(numbers_, {group, i}), channel);
    }
    const ValueId width = Integer(images_.width());
    const ValueId channel = Call(fuser::Opcode::kAdd, first, Call(fuser::Opcode::kRemainder, i, width));
    return WithAdded(Loaded(numbers_, {image, Call(fuser::Opcode::kFloorDivide, i, width), channel}), channel);
  }

  // A number of the channel and what is added to it, rounded as a sum of the images' dtype is.
  Scalar WithAdded(Scalar number, ValueId channel) {
    if (!added_) return number;
    const fuser::Dtype dtype = *KernelDtype(signature_.inputs.front().tensor.dtype);
    return (number + Loaded(*added_, {channel})).To(dtype).To(fuser::Dtype::kFloat32);
  }

  template <typename Element>
  Scalar Sum(ValueId length, const Element& element) {
    const std::vector<ValueId> sums = builder_.Reduce(length, [&](ValueId i) {
      return std::vector<fuser::KernelBuilder::Reduced>{{Reduction::kSum, element(i).id()}};
    });
    return {builder_, sums[0]};
  }

  // The mean and the variance of a group's numbers.
  std::pair<Scalar, Scalar> Moments(ValueId image, ValueId group, ValueId first) {
    const Scalar length = Scalar(builder_, length_).To(fuser::Dtype::kFloat32);
    const Scalar mean = Sum(length_, [&](ValueId i) { return Number(image, group, first, i); }) / length;
    const Scalar squares = Sum(length_, [&](ValueId i) {
      const Scalar deviation = Number(image, group, first, i) - mean;
      return deviation * deviation;
    });
    return {mean, squares / length};
  }

  // A loop at the top whose rounds are a thread's: each strand's mean, and its sum of squared deviations from it.
  void ReduceStrands() {
    const auto& [count, length, strands] = *strands_;
    means_ = DeclareScratch();
    squares_ = DeclareScratch();
    builder_.Parallel(Integer(count * strands), [&](ValueId round) {
      const ValueId block = Call(fuser::Opcode::kFloorDivide, round, Integer(strands));
      const ValueId strand = Call(fuser::Opcode::kRemainder, round, Integer(strands));
      const ValueId channels = Integer(images_.channels), groups = Integer(images_.groups);
      const ValueId column = Call(fuser::Opcode::kRemainder, strand, channels);
      const ValueId first =
          Call(fuser::Opcode::kMultiply, Call(fuser::Opcode::kRemainder, block, groups), Integer(images_.width()));
      const auto number = [&](ValueId i) {
        const ValueId of_group = Call(fuser::Opcode::kAdd, Call(fuser::Opcode::kMultiply, i, Integer(strands)), strand);
        const ValueId row = Call(fuser::Opcode::kFloorDivide, of_group, pixels_);
        const ValueId channel = images_.is_channels_last ? column : Call(fuser::Opcode::kAdd, first, row);
        return WithAdded(Loaded(strand_numbers_, {block, i, strand}), channel);
      };
      const auto sum = [&](const auto& element) {
        const ValueId zero = builder_.Constant(fuser::Dtype::kFloat32, 0);
        const std::vector<ValueId> sums =
            builder_.Sequential(Integer(length), std::span(&zero, 1), [&](ValueId i, std::span<const ValueId> carried) {
              return std::vector<ValueId>{(Scalar(builder_, carried[0]) + element(number(i))).id()};
            });
        return Scalar(builder_, sums[0]);
      };
      const Scalar mean = sum([](Scalar x) { return x; }) / Real(length);
      const Scalar squares = sum([&](Scalar x) { return (x - mean) * (x - mean); });
      builder_.Store(means_, {block, strand}, mean.id());
      builder_.Store(squares_, {block, strand}, squares.id());
    });
  }

  // The same as Moments, of what its strands have (Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for
  // computing sample variances, 1979).
  std::pair<Scalar, Scalar> MomentsOfStrands(ValueId image, ValueId group, ValueId first) {
    const int64_t of_group = *images_.length() / strands_->length;
    const auto loaded = [&](BufferId buffer, ValueId i) {
      if (!images_.is_channels_last) return Loaded(buffer, {group, i});
      const ValueId width = Integer(images_.width());
      const ValueId row =
          Call(fuser::Opcode::kMultiply, Call(fuser::Opcode::kFloorDivide, i, width), Integer(images_.channels));
      const ValueId channel = Call(fuser::Opcode::kAdd, first, Call(fuser::Opcode::kRemainder, i, width));
      return Loaded(buffer, {image, Call(fuser::Opcode::kAdd, row, channel)});
    };
    const Scalar mean = Sum(Integer(of_group), [&](ValueId i) { return loaded(means_, i); }) / Real(of_group);
    const Scalar squares = Sum(Integer(of_group), [&](ValueId i) {
      const Scalar deviation = loaded(means_, i) - mean;
      return loaded(squares_, i) + Real(strands_->length) * deviation * deviation;
    });
    return {mean, squares / Real(*images_.length())};
  }

  // What the node's operand is as an input of the kernel.
  BufferId Declare(const Value& value, KernelSignature::Tensor tensor, std::vector<ValueId> sizes,
                   std::vector<ValueId> strides) {
    operands_.push_back(&value);
    signature_.inputs.push_back({static_cast<uint16_t>(operands_.size()), std::move(tensor)});
    return builder_.Input(*KernelDtype(signature_.inputs.back().tensor.dtype), std::move(sizes), std::move(strides));
  }

  void DeclareImages() {
    const ValueFacts& images = facts_.Of(*node_.input(0));
    KernelSignature::Tensor tensor{*images.dtype, {}, {}};
    for (size_t i = 0; i < extents_.size(); ++i) {
      const KnownSize size = (*images.sizes)[i];
      if (size != 1) {
        extents_[i] = static_cast<int16_t>(signature_.extents.size());
        signature_.extents.push_back({0, static_cast<uint16_t>(i), size.value_or(KernelSignature::kAnySize)});
      }
      tensor.extents.push_back(extents_[i]);
    }
    // Symbols come before all else.
    const std::optional<ValueId> count = SymbolUnless(images_.count, {0}),
                                 pixels = SymbolUnless(images_.pixels, {2, 3});
    count_ = count ? *count : Integer(*images_.count);
    pixels_ = pixels ? *pixels : Integer(*images_.pixels);
    all_groups_ = Call(fuser::Opcode::kMultiply, count_, Integer(images_.groups));
    length_ = Call(fuser::Opcode::kMultiply, pixels_, Integer(images_.width()));
    tensor.nesting = images_.is_channels_last ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{0, 1, 2, 3};
    const ValueId channels = Integer(images_.channels);
    if (strands_) {
      const ValueId strands = Integer(strands_->strands);
      strand_numbers_ =
          Declare(*node_.input(0), std::move(tensor), {Integer(strands_->count), Integer(strands_->length), strands},
                  {Integer(strands_->length * strands_->strands), strands, Integer(1)});
    } else if (images_.is_channels_last) {
      numbers_ = Declare(*node_.input(0), std::move(tensor), {count_, pixels_, channels},
                         {Call(fuser::Opcode::kMultiply, channels, pixels_), channels, Integer(1)});
    } else {
      numbers_ = Declare(*node_.input(0), std::move(tensor), {all_groups_, length_}, {length_, Integer(1)});
    }
  }

  // The product of some of the images' sizes, which a call says; none where it is a constant.
  std::optional<ValueId> SymbolUnless(std::optional<int64_t> constant, std::initializer_list<size_t> dimensions) {
    if (constant) return {};
    KernelSignature::Symbol symbol;
    for (const size_t i : dimensions) {
      if (extents_[i] != KernelSignature::kOne) symbol.extents.push_back(static_cast<uint16_t>(extents_[i]));
    }
    signature_.symbols.push_back(std::move(symbol));
    return builder_.Symbol();
  }

  std::optional<BufferId> DeclareChannels(const Value& value) {
    const ValueFacts& facts = facts_.Of(value);
    if (facts.kind == ValueFacts::Kind::kNone) return {};
    return Declare(value, {*facts.dtype, {extents_[1]}, {0}}, {Integer(images_.channels)}, {Integer(1)});
  }

  BufferId DeclareScales() {
    signature_.outputs.push_back(
        {c10::kFloat, {extents_[0], extents_[1], KernelSignature::kOne, KernelSignature::kOne}, {0, 1, 2, 3}});
    return builder_.Output(fuser::Dtype::kFloat32, {count_, Integer(images_.channels)},
                           {Integer(images_.channels), Integer(1)});
  }

  // A number for each strand.
  BufferId DeclareScratch() {
    const auto& [count, length, strands] = *strands_;
    signature_.scratch.push_back({c10::kFloat, count * strands});
    return builder_.Output(fuser::Dtype::kFloat32, {Integer(count), Integer(strands)}, {Integer(strands), Integer(1)});
  }

  const Node& node_;
  ValueFactTable& facts_;
  const GroupedImages images_;
  const std::optional<Strands> strands_ = StrandsOf(images_);
  fuser::KernelBuilder builder_;
  KernelSignature signature_;
  std::vector<const Value*> operands_;
  // Of each of the images' dimensions.
  std::array<int16_t, 4> extents_ = {KernelSignature::kOne, KernelSignature::kOne, KernelSignature::kOne,
                                     KernelSignature::kOne};
  // Numbers of the kernel: of images, of pixels of one, of all images' groups, of the numbers of a group.
  ValueId count_ = 0, pixels_ = 0, all_groups_ = 0, length_ = 0;
  BufferId numbers_ = 0;
  BufferId strand_numbers_ = 0, means_ = 0, squares_ = 0;
  std::optional<BufferId> added_;
};

// Whether kernels can read a weight or bias as it lies.
bool HasChannels(const ValueFacts& facts, const ValueFacts& images) {
  if (facts.kind == ValueFacts::Kind::kNone) return true;
  return facts.is_tensor() && facts.plain && facts.dtype && KernelDtype(*facts.dtype) && facts.rank() == 1u &&
         facts.order.is_known() && (*facts.sizes)[0] == (*images.sizes)[1];
}

}  // namespace

std::optional<LoweredGroup> LowerGroupScales(const Node& node, ValueFactTable& facts) {
  const std::optional<GroupedImages> images = GroupedImagesOf(node, facts);
  if (!images) return {};
  const ValueFacts& of_images = facts.Of(*node.input(0));
  for (const size_t i : {2, 3, 5}) {
    if (!HasChannels(facts.Of(*node.input(i)), of_images)) return {};
  }
  return ScalesLowering(node, facts, *images).Run();
}

}  // namespace hearth
