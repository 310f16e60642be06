// A library as users of torch.ops and torch.classes write them, for tests: operators, one of which writes its argument
// without saying so in its schema and one of which raises when it likes, and a class with methods, properties, magic
// methods and a pickled state.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace {

at::Tensor Scale(const at::Tensor& x, double factor) { return at::mul(x, factor); }

at::Tensor Bump(at::Tensor x) {
  x.add_(1);
  return at::mul(x, 10);
}

std::tuple<at::Tensor, int64_t> Describe(const at::Tensor& x, const std::vector<int64_t>& sizes) {
  return {at::add(x, 1), static_cast<int64_t>(sizes.size()) * x.dim()};
}

at::Tensor Fail(const at::Tensor& x) {
  TORCH_CHECK_VALUE(false, "the test operator was given ", x.numel(), " elements");
}

// Raises in every other call with a positive number, the first one included.
at::Tensor RaiseFirst(const at::Tensor& x) {
  static std::atomic<int> calls{0};
  TORCH_CHECK(x.item<double>() <= 0 || calls++ % 2 == 1, "not the first time\nwhatever it is");
  return at::add(x, 1);
}

// Words and the times that each was seen; `step` counts what one look is worth.
class Tally : public torch::CustomClassHolder {
 public:
  explicit Tally(std::vector<std::string> words) : words_(std::move(words)), counts_(words_.size(), 0) {}

  void See(const std::string& word) { counts_[Find(word)] += step_; }
  int64_t Count(const std::string& word) const { return counts_[Find(word)]; }
  bool Has(const std::string& word) const { return IndexOf(word) < words_.size(); }
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  int64_t step() const { return step_; }
  void set_step(int64_t step) { step_ = step; }
  at::Tensor Weigh(const at::Tensor& x) const { return at::mul(x, static_cast<double>(weight)); }
  c10::intrusive_ptr<Tally> Clone() const { return c10::make_intrusive<Tally>(*this); }

  std::tuple<std::vector<std::string>, std::vector<int64_t>, int64_t, double> state() const {
    return {words_, counts_, step_, weight};
  }
  void SetCounts(std::vector<int64_t> counts) { counts_ = std::move(counts); }

  double weight = 1;

 private:
  size_t IndexOf(const std::string& word) const {
    size_t i = 0;
    while (i < words_.size() && words_[i] != word) ++i;
    return i;
  }
  size_t Find(const std::string& word) const {
    const size_t i = IndexOf(word);
    TORCH_CHECK_INDEX(i < words_.size(), "the tally has no word '", word, "'");
    return i;
  }

  std::vector<std::string> words_;
  std::vector<int64_t> counts_;
  int64_t step_ = 1;
};

// In a namespace whose schemas are believed: plans may do it again where it raised.
TORCH_LIBRARY_FRAGMENT(prepacked, m) { m.def("hearth_test_raise_first(Tensor x) -> Tensor", RaiseFirst); }

TORCH_LIBRARY(hearth_test, m) {
  m.def("scale(Tensor x, float factor=2.0) -> Tensor", Scale);
  m.def("bump(Tensor x) -> Tensor", Bump);
  m.def("describe(Tensor x, int[] sizes) -> (Tensor, int)",
        [](const at::Tensor& x, std::vector<int64_t> sizes) { return Describe(x, sizes); });
  m.def("fail(Tensor x) -> Tensor", Fail);
  m.class_<Tally>("Tally")
      .def(torch::init<std::vector<std::string>>())
      .def("see", &Tally::See)
      .def("count", &Tally::Count)
      .def("weigh", &Tally::Weigh)
      .def("clone", &Tally::Clone)
      .def("__getitem__", &Tally::Count)
      .def("__contains__", &Tally::Has)
      .def("__len__", &Tally::size)
      .def_property("step", &Tally::step, &Tally::set_step)
      .def_readwrite("weight", &Tally::weight)
      .def_pickle([](const c10::intrusive_ptr<Tally>& self) { return self->state(); },
                  [](std::tuple<std::vector<std::string>, std::vector<int64_t>, int64_t, double> state) {
                    auto tally = c10::make_intrusive<Tally>(std::get<0>(state));
                    tally->SetCounts(std::get<1>(state));
                    tally->set_step(std::get<2>(state));
                    tally->weight = std::get<3>(state);
                    return tally;
                  });
}

}  // namespace
