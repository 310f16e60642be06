#include "jit/weights/weight_formats.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "jit/libraries/packed_weight.h"
#include "jit/libraries/product.h"
#include "jit/operators/plain_product.h"
#include "jit/operators/registry.h"
#include "jit/support/logging.h"
#include "jit/support/processor_time.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

// Of numbers, in a product that is tried out: some 13 ms of one thread. What holds of it holds of more rows.
constexpr int64_t kMostProducts = int64_t{1} << 29;
// Of a matrix in it; of a larger weight, as much is tried out.
constexpr int64_t kMostElements = int64_t{1} << 22;
constexpr std::array<int64_t, 3> kFewAndManyRows{16, 96, 256};
// By a copy in another format, or it is not worth its memory.
constexpr double kLeastGain = 1.05;
// By what is packed for hearth's own kernels, for so many rows or more. A try-out is short and what else a processor
// does comes and goes: plans were as fast or faster with packed weights where one had said 0.9.
constexpr double kLeastGainOfOwn = 0.8;
constexpr int64_t kManyRows = 8;
constexpr int64_t kMostCopies = 4;  // of a weight, to try it out
constexpr size_t kMostKnown = 4096;

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("weights/weight_formats");
  return log;
}

struct Product {
  int64_t rows, inner, columns;
};

at::Tensor Call(const char* name, torch::jit::Stack stack) {
  OperatorRegistry::Global().Find(c10::Symbol::fromQualString(name), "")->Run(stack);
  return stack.at(0).toTensor();
}

// None if the library has no good code for it.
c10::IValue PlannedProduct(const at::Tensor& weight, int64_t rows) {
  auto product = c10::make_intrusive<libraries::Product>(weight);
  const auto form = product->FormFor(rows);
  if (form == nullptr) return {};
  product->Use({form, libraries::Pack(weight.t(), *form)});
  product->Prepare(rows, /*has_bias=*/false, "");
  return libraries::Product::Wrap(std::move(product));
}

// How many times as long a product takes with the weight as models have it as with it in another format; 1 of what is
// not to be tried.
struct Gains {
  double transposed = 1;
  double packed = 1;
};

// The fastest of a few tries of each format, in which they take turns: whatever else disturbs them makes them slower.
// As in a model, other weights are used before this one is again: more than a processor's own cache holds, unless they
// are small.
Gains GainsFor(const Product& product, bool try_transposed, bool try_packed, const DerivedConstants& derived) {
  if (!try_transposed && !try_packed) return {};
  constexpr size_t kTries = 5;
  constexpr int64_t kOwnCache = int64_t{1} << 21;  // floats
  const int64_t copies = std::clamp<int64_t>(kOwnCache / product.inner / product.columns, 1, kMostCopies);
  struct Layer {
    at::Tensor weight;
    c10::IValue planned;
  };
  const at::NoGradGuard no_gradients;
  const at::Tensor input = at::ones({product.rows, product.inner});
  std::array<std::vector<Layer>, 3> formats;
  auto& [plain, transposed, packed] = formats;
  for (int64_t i = 0; i < copies; ++i) {
    const at::Tensor weight = at::ones({product.columns, product.inner});
    plain.push_back({weight, {}});
    if (try_transposed) transposed.push_back({TransposedWeight(weight), {}});
    if (try_packed) packed.push_back({weight, PlannedProduct(weight, product.rows)});
  }
  std::array<double, 3> fastest;
  fastest.fill(std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < kTries; ++i) {
    for (size_t format = 0; format < formats.size(); ++format) {
      if (formats[format].empty()) continue;
      const auto start = ProcessorTimeOfThread();
      for (const Layer& layer : formats[format]) {
        Call("hearth::linear", {input, layer.weight, layer.planned, c10::IValue(), ""});
      }
      fastest[format] = std::min(fastest[format], double((ProcessorTimeOfThread() - start).count()));
      derived.Rest();
    }
  }
  return {try_transposed ? fastest[0] / fastest[1] : 1, try_packed ? fastest[0] / fastest[2] : 1};
}

// Whether a call of that product could use a packed weight, and may be faster with it.
bool MayBePacked(const Product& product, bool rows_known) {
  return libraries::Product::TakesAnyRows() ||
         (rows_known && native::IsWorthPacking(product.rows, product.inner, product.columns));
}

WeightFormat TryOut(const std::vector<Product>& products, bool rows_known, int threads,
                    const DerivedConstants& derived) {
  const bool is_shared = std::ranges::any_of(products, [&](const Product& product) {
    return libraries::Product::IsShared(product.rows, product.inner, product.columns, threads);
  });
  if (is_shared) return WeightFormat::kPacked;
  Gains all;
  for (const Product& product : products) {
    const auto& [rows, inner, columns] = product;
    const bool may_be_shared = threads > 1 && !native::IsSmallProduct(rows, inner, columns);
    const Gains gains = GainsFor(product, !may_be_shared, MayBePacked(product, rows_known), derived);
    Log().debug("{} rows, a weight of {} by {}: {:.2f} times as fast transposed, {:.2f} times packed", rows, columns,
                inner, gains.transposed, gains.packed);
    const double share = 1.0 / static_cast<double>(products.size());
    all.transposed *= std::pow(gains.transposed, share);
    all.packed *= std::pow(gains.packed, share);
  }
  const bool gains_transposed = all.transposed > kLeastGain;
  const bool is_own = libraries::Product::TakesAnyRows() && products.back().rows >= kManyRows;
  const double least_of_packed = gains_transposed ? all.transposed : is_own ? kLeastGainOfOwn : kLeastGain;
  if (all.packed > least_of_packed) return WeightFormat::kPacked;
  return gains_transposed ? WeightFormat::kTransposed : WeightFormat::kAsItIs;
}

}  // namespace

at::Tensor TransposedWeight(const at::Tensor& weight) { return weight.detach().t().contiguous().t(); }

WeightFormat FastestWeightFormat(std::optional<int64_t> rows, int64_t inner, int64_t columns, int threads,
                                 const DerivedConstants& derived) {
  if (inner <= 0 || columns <= 0 || (rows && *rows <= 0)) return WeightFormat::kAsItIs;
  inner = std::min(inner, kMostElements);
  columns = std::min(columns, kMostElements / inner);
  const int64_t most_rows = std::min(kMostProducts / inner / columns, kMostElements / std::max(inner, columns));
  std::vector<Product> products;
  for (const int64_t count : rows ? std::vector{*rows} : std::vector(kFewAndManyRows.begin(), kFewAndManyRows.end())) {
    // Comparing first: what a count is rounded up to might not be a number any more.
    const int64_t rounded = count >= most_rows ? most_rows : static_cast<int64_t>(std::bit_ceil(uint64_t(count)));
    products.push_back({std::min(rounded, most_rows), inner, columns});
  }
  using Key = std::tuple<int64_t, int64_t, int64_t, int>;
  static std::mutex mutex;
  static std::map<Key, WeightFormat> known;
  const Key key{rows ? products[0].rows : 0, inner, columns, threads};
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const WeightFormat format = TryOut(products, rows.has_value(), threads, derived);
  const std::lock_guard lock(mutex);
  if (known.size() >= kMostKnown) known.clear();
  return known.try_emplace(key, format).first->second;
}

}  // namespace hearth
