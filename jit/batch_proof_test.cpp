// What is proved of the rows of a batch is held against runs: of all rows together, and of each row alone.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "jit/runtime.h"
#include "jit/support/tensors_in.h"

namespace hearth {
namespace {

using c10::IValue;
using Verdict = BatchProof::Verdict;
using ::testing::HasSubstr;

class BatchProofTest : public ::testing::Test {
 protected:
  // A function f of such a text.
  std::shared_ptr<Model> Load(const std::string& text) {
    const auto path = std::filesystem::path(::testing::TempDir()) / "batch_proof.py";
    std::ofstream(path) << "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor\n"
                        << "from typing import Dict, List, Optional, Tuple\n\n"
                        << text;
    LoadOptions options;
    options.function = "f";
    auto model = runtime_->LoadSource(path.string(), options);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? *model : nullptr;
  }

  static BatchArgument Shape(std::vector<int64_t> sizes, at::ScalarType dtype = at::kFloat) {
    return {.sizes = std::move(sizes), .dtype = dtype};
  }

  // What is proved, with arguments of such sizes (-1 for the batch); held against runs of four rows.
  BatchProof Prove(const std::string& text, const std::vector<BatchArgument>& arguments) {
    const auto model = Load(text);
    if (model == nullptr) return {};
    auto proof = model->ProveBatch("f", arguments);
    EXPECT_TRUE(proof.ok()) << proof.status();
    Check(*model, arguments, *proof);
    return *proof;
  }

  void Check(Model& model, const std::vector<BatchArgument>& arguments, const BatchProof& proof) {
    constexpr int64_t kRows = 4;
    std::vector<IValue> all;
    std::vector<std::vector<IValue>> alone(kRows);
    for (const BatchArgument& argument : arguments) {
      std::vector<int64_t> sizes = *argument.sizes;
      sizes[0] = kRows;
      for (int64_t& size : sizes) size = size < 0 ? 3 : size;
      const bool is_float = at::isFloatingType(*argument.dtype);
      const at::Tensor tensor = is_float ? at::randn(sizes) : at::randint(0, 3, sizes, *argument.dtype);
      all.emplace_back(tensor);
      for (int64_t row = 0; row < kRows; ++row) alone[row].emplace_back(tensor.narrow(0, row, 1).clone());
    }
    const auto together = model.Call("f", all, {});
    ASSERT_TRUE(together.ok()) << together.status();
    bool same = true;
    for (int64_t row = 0; row < kRows; ++row) {
      const auto own = model.Call("f", alone[row], {});
      if (!own.ok() && proof.verdict == Verdict::kUnknown) return;
      ASSERT_TRUE(own.ok()) << own.status();
      same &= VisitPairs(*together, *own, [&](const at::Tensor& in_batch, const at::Tensor& by_itself) {
        same &= in_batch.dim() > 0 && in_batch.size(0) == kRows && by_itself.dim() == in_batch.dim() &&
                at::allclose(in_batch.narrow(0, row, 1), by_itself, 1e-4, 1e-5);
      });
    }
    if (proof.verdict == Verdict::kUnknown) return;
    EXPECT_EQ(same, proof.verdict == Verdict::kIndependent) << proof.text;
  }

  static std::unique_ptr<Runtime> MakeRuntime() {
    RuntimeOptions options;
    options.threads = 1;
    options.compiler.tier = Tier::kBaseline;
    return Runtime::Create(options).value();
  }

  std::unique_ptr<Runtime> runtime_ = MakeRuntime();
};

struct Program {
  const char* name;
  const char* text;
  std::vector<BatchArgument> arguments;
  Verdict verdict;
  const char* reason;
};

BatchArgument Of(std::vector<int64_t> sizes, at::ScalarType dtype = at::kFloat) {
  return {.sizes = std::move(sizes), .dtype = dtype};
}

const std::vector<Program>& Programs() {
  static const std::vector<Program> kPrograms = {
      {"pointwise",
       "def f(x: Tensor, y: Tensor) -> Tensor:\n    return (x * 2 + y).relu()\n",
       {Of({-1, 3}), Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"broadcast",
       "def f(x: Tensor, y: Tensor) -> Tensor:\n    return x * y.unsqueeze(1)\n",
       {Of({-1, 5, 3}), Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"softmax of features",
       "def f(x: Tensor) -> Tensor:\n    return torch.softmax(x, -1)\n",
       {Of({-1, -1})},
       Verdict::kIndependent,
       ""},
      {"softmax of rows",
       "def f(x: Tensor) -> Tensor:\n    return torch.softmax(x, 0)\n",
       {Of({-1, -1})},
       Verdict::kDependent,
       "batch_proof.py:7 is taken over all rows"},
      {"mean of rows",
       "def f(x: Tensor) -> Tensor:\n    return x - x.mean(0)\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "batch_proof.py:7 makes one of all rows"},
      {"mean of all",
       "def f(x: Tensor) -> Tensor:\n    return x - x.mean()\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "makes one of all rows"},
      {"mean of features",
       "def f(x: Tensor) -> Tensor:\n    return x - x.mean(1, keepdim=True)\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"sum without rows",
       "def f(x: Tensor) -> Tensor:\n    return x.sum(0)\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "makes one of all rows"},
      {"a mean that is not used",
       "def f(x: Tensor) -> Tensor:\n    y = x.mean(0)\n    return x + y.size(0)\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"batch norm that learns",
       "def f(x: Tensor) -> Tensor:\n    return torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n",
       {Of({-1, 3, 4, 4})},
       Verdict::kDependent,
       "normalizes by what all rows have together"},
      {"batch norm",
       "def f(x: Tensor) -> Tensor:\n    return torch.batch_norm(x, None, None, torch.zeros(3), torch.ones(3), False, "
       "0.1, 1e-5, False)\n",
       {Of({-1, 3, 4, 4})},
       Verdict::kIndependent,
       ""},
      {"layer norm",
       "def f(x: Tensor) -> Tensor:\n    return torch.layer_norm(x, [3])\n",
       {Of({-1, 5, 3})},
       Verdict::kIndependent,
       ""},
      {"convolution",
       "def f(x: Tensor) -> Tensor:\n    y = torch.max_pool2d(torch.conv2d(x, torch.ones(8, 3, 3, 3)), 2)\n"
       "    return torch.flatten(y, 1) @ torch.ones(72, 2)\n",
       {Of({-1, 3, 8, 8})},
       Verdict::kIndependent,
       ""},
      {"a view by numbers",
       "def f(x: Tensor) -> Tensor:\n    return x.view(-1, 12) @ torch.ones(12, 2)\n",
       {Of({-1, 3, 4})},
       Verdict::kIndependent,
       ""},
      {"a view across rows",
       "def f(x: Tensor) -> Tensor:\n    return x.view(2, -1).softmax(1).view(-1, 3)\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "batch_proof.py:7 gives sizes"},
      {"heads",
       "def f(x: Tensor) -> Tensor:\n    n, t, c = x.size()\n    q = x.view(n, t, 2, c // 2).transpose(1, 2)\n"
       "    s = torch.softmax(q @ q.transpose(-2, -1), -1)\n    return (s @ q).transpose(1, 2).reshape(n, t, c)\n",
       {Of({-1, -1, 6})},
       Verdict::kIndependent,
       ""},
      {"heads folded into the batch",
       "def f(x: Tensor) -> Tensor:\n    n, t, c = x.shape\n"
       "    q = x.view(n, t, 2, 3).permute(0, 2, 1, 3).reshape(n * 2, t, 3)\n"
       "    return torch.bmm(q, q.transpose(1, 2)).view(n, 2, t, t)\n",
       {Of({-1, -1, 6})},
       Verdict::kIndependent,
       ""},
      {"steps and rows in one dimension, steps first",
       "def f(x: Tensor) -> Tensor:\n    n, t, c = x.shape\n    y = x.transpose(0, 1).reshape(n * t, c)\n"
       "    return torch.layer_norm(y @ torch.ones(3, 3) + y, [3]).view(t, n, c).transpose(0, 1)\n",
       {Of({-1, -1, 3})},
       Verdict::kIndependent,
       ""},
      {"two orders of steps and rows",
       "def f(x: Tensor) -> Tensor:\n    n, t, c = x.shape\n    y = x.transpose(0, 1).reshape(n * t, c)\n"
       "    return (y + x.view(n * t, c)).view(n, t, c)\n",
       {Of({-1, -1, 3})},
       Verdict::kUnknown,
       "has the rows in two orders"},
      {"rows in another order",
       "def f(x: Tensor) -> Tensor:\n    return x.transpose(0, 1).reshape(-1, 3)\n",
       {Of({-1, 2, 3})},
       Verdict::kUnknown,
       "the answer may have its rows in another order"},
      {"steps first, transposed in and out",
       "def f(x: Tensor) -> Tensor:\n    return torch.cumsum(x.transpose(0, 1), 0).transpose(0, 1)\n",
       {Of({-1, 5, 3})},
       Verdict::kIndependent,
       ""},
      {"a sum over steps that are rows",
       "def f(x: Tensor) -> Tensor:\n    return torch.cumsum(x, 0)\n",
       {Of({-1, 5, 3})},
       Verdict::kDependent,
       "works along the rows"},
      {"the Gram matrix",
       "def f(x: Tensor) -> Tensor:\n    return torch.softmax(x @ x.t(), 1) @ x\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "combines each row with each"},
      {"pairs",
       "def f(x: Tensor) -> Tensor:\n    return (x.unsqueeze(0) - x.unsqueeze(1)).sum(1)\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "combines each row with each"},
      {"the first row for all",
       "def f(x: Tensor) -> Tensor:\n    return x + x[0]\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "takes one row for all"},
      {"rows turned round",
       "def f(x: Tensor) -> Tensor:\n    return x.flip(0)\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "puts rows in each other's place"},
      {"an answer with the batch elsewhere",
       "def f(x: Tensor) -> Tuple[Tensor, Tensor]:\n    return x, x.t()\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "part 1 of the answer has them along dimension 1"},
      {"an answer without rows",
       "def f(x: Tensor) -> Tuple[Tensor, Tensor]:\n    return x, torch.ones(3)\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "part 1 of the answer is the same whatever the batch has"},
      {"several rows for each",
       "def f(x: Tensor) -> Tensor:\n    return x.view(-1, 3)\n",
       {Of({-1, 2, 3})},
       Verdict::kDependent,
       "the answer has 2 for each"},
      {"the number of rows",
       "def f(x: Tensor) -> Tensor:\n    return x / x.size(0)\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "computes with the number of rows"},
      {"made with as many rows",
       "def f(x: Tensor) -> Tensor:\n    return torch.cat([torch.zeros(x.size(0), 1), x], 1)\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"a token for each row",
       "def f(x: Tensor) -> Tensor:\n    c = torch.ones(1, 1, 3).expand(x.shape[0], -1, -1)\n"
       "    return torch.cat([c, x], dim=1)\n",
       {Of({-1, -1, 3})},
       Verdict::kIndependent,
       ""},
      {"positions",
       "def f(x: Tensor) -> Tensor:\n    p = torch.arange(x.size(1)).unsqueeze(0).expand_as(x)\n"
       "    return torch.embedding(torch.ones(9, 4), x) + torch.embedding(torch.ones(9, 4), p)\n",
       {Of({-1, -1}, at::kLong)},
       Verdict::kIndependent,
       ""},
      {"the last of each row",
       "def f(x: Tensor, at: Tensor) -> Tensor:\n    return x[torch.arange(x.size(0)), at]\n",
       {Of({-1, 5, 3}), Of({-1}, at::kLong)},
       Verdict::kIndependent,
       ""},
      {"a mask looked up by rows and columns",
       "def f(x: Tensor, m: Tensor) -> Tensor:\n    n = torch.arange(x.size(0))[:, None, None]\n"
       "    return x * m[n, torch.arange(x.size(2))[None, None, :]]\n",
       {Of({-1, 5, 3}), Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"writes in place",
       "def f(x: Tensor) -> Tensor:\n    y = x * 2\n    y += 1\n    y[:, 0] = 3\n    return y.relu_()\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"writes over one row",
       "def f(x: Tensor) -> Tensor:\n    y = x * 2\n    y[0] = 0\n    return y\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "batch_proof.py:8"},
      {"a loop of steps",
       "def f(x: Tensor) -> Tensor:\n    h = torch.zeros(x.size(0), 3)\n    for i in range(x.size(1)):\n"
       "        h = torch.tanh(h + x[:, i])\n    return h\n",
       {Of({-1, -1, 3})},
       Verdict::kIndependent,
       ""},
      {"a loop of rows",
       "def f(x: Tensor) -> Tensor:\n    h = x\n    for i in range(x.size(0)):\n        h = h + 1\n    return h\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "runs as often as the number of rows says"},
      {"a branch by what is in it",
       "def f(x: Tensor) -> Tensor:\n    y = x\n    if bool((x > 0).all()):\n        y = x + 1\n    return y\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "decides by what is in the rows"},
      {"a branch by sizes",
       "def f(x: Tensor) -> Tensor:\n    y = x\n    if x.size(1) > 2:\n        y = x + 1\n    return y\n",
       {Of({-1, -1})},
       Verdict::kIndependent,
       ""},
      {"a branch by the number of rows",
       "def f(x: Tensor) -> Tensor:\n    y = x\n    if x.size(0) == 1:\n        y = x + 1\n    return y\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "decides by the number of rows"},
      {"squeezed",
       "def f(x: Tensor) -> Tensor:\n    return x.squeeze()\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "removes the axis of the rows where there is one row"},
      {"squeezed elsewhere",
       "def f(x: Tensor) -> Tensor:\n    return x.mean(1, keepdim=True).squeeze(1)\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"attention with a mask",
       "def f(x: Tensor, m: Tensor) -> Tensor:\n    q = x.unsqueeze(1)\n    b = (1.0 - m[:, None, None, :]) * -9\n"
       "    return torch.ops.aten.scaled_dot_product_attention(q, q, q, attn_mask=b).squeeze(1)\n",
       {Of({-1, 3, 4}), Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"einsum",
       "def f(x: Tensor, y: Tensor) -> Tensor:\n    return torch.einsum('bij,bkj->bik', x, y)\n",
       {Of({-1, 2, 3}), Of({-1, 5, 3})},
       Verdict::kIndependent,
       ""},
      {"einsum over rows",
       "def f(x: Tensor) -> Tensor:\n    return x @ torch.einsum('bi,bj->ij', x, x)\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "adds up what rows have"},
      {"sorted",
       "def f(x: Tensor) -> Tuple[Tensor, Tensor]:\n    return torch.topk(x, 2, dim=1)\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"the best of all rows",
       "def f(x: Tensor) -> Tensor:\n    return x - torch.max(x, 0)[0]\n",
       {Of({-1, 3})},
       Verdict::kDependent,
       "makes one of all rows"},
      {"an interpolation",
       "def f(x: Tensor) -> Tensor:\n    return torch.ops.aten.upsample_nearest2d(x, None, [2.0, 2.0])\n",
       {Of({-1, 3, 4, 4})},
       Verdict::kIndependent,
       ""},
      {"padding",
       "def f(x: Tensor) -> Tensor:\n    return torch.ops.aten.pad(x, [1, 1, 2, 0])\n",
       {Of({-1, 3, 4, 4})},
       Verdict::kIndependent,
       ""},
      {"padding of rows",
       "def f(x: Tensor) -> Tensor:\n    return torch.ops.aten.pad(x, [0, 0, 1, 0])[1:]\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "works along the axis of the rows"},
      {"two batches one behind the other",
       "def f(x: Tensor) -> Tensor:\n    a, b = torch.cat([x, -x], 0).chunk(2, 0)\n    return a + b\n",
       {Of({-1, 3})},
       Verdict::kUnknown,
       "puts batches one behind the other"},
      {"each row repeated",
       "def f(x: Tensor) -> Tensor:\n    n = x.size(0)\n"
       "    return x.repeat_interleave(2, 0).view(n, 2, -1).sum(1)\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"a dict",
       "def f(x: Tensor) -> Dict[str, Tensor]:\n    return {'a': x + 1, 'b': x.mean(1)}\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"a list",
       "def f(x: Tensor) -> List[Tensor]:\n    out: List[Tensor] = []\n    for i in range(3):\n"
       "        out.append(x[:, i])\n    return out\n",
       {Of({-1, 3})},
       Verdict::kIndependent,
       ""},
      {"cosine similarity of pairs",
       "def f(x: Tensor) -> Tensor:\n    return torch.cosine_similarity(x.unsqueeze(1), x.unsqueeze(0), "
       "dim=2).sum(1)\n",
       {Of({-1, 4})},
       Verdict::kDependent,
       "combines each row with each"},
      {"cosine similarity with a weight",
       "def f(x: Tensor) -> Tensor:\n    return torch.cosine_similarity(torch.ones(1, 4), x, dim=1)\n",
       {Of({-1, 4})},
       Verdict::kIndependent,
       ""},
      {"a convolution of steps",
       "def f(x: Tensor) -> Tensor:\n    return torch.conv_tbc(x, torch.ones(3, 4, 4), torch.zeros(4), 1)\n",
       {Of({-1, 5, 4})},
       Verdict::kUnknown,
       "works along the axis of the rows"},
      {"rows before a difference",
       "def f(x: Tensor) -> Tensor:\n    return x + torch.diff(torch.zeros(1, 4), n=1, dim=0, prepend=x).sum(0)\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "along a dimension that is not known"},
      {"where something is",
       "def f(x: Tensor) -> Tensor:\n    return torch.where(x[:, 0] > -9)[0]\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "makes a list of what is in the rows"},
      {"a number of rows looked for",
       "def f(x: Tensor) -> Tensor:\n    y = x * 2\n    if x.size(0) in [1]:\n        y = x\n    return y\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "decides by the number of rows"},
      {"as much of a list as there are rows",
       "def f(x: Tensor) -> Tensor:\n    l = [1, 2, 3, 4, 5]\n    return x * len(l[:x.size(0)])\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "takes so much of a list"},
      {"a list repeated",
       "def f(x: Tensor) -> Tensor:\n    return x * len([1] * x.size(0))\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "computes with the number of rows"},
      {"the length of a text",
       "def f(x: Tensor) -> Tensor:\n    return x * len(str(x.size(0)))\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "computes with the number of rows"},
      {"the length of sizes",
       "def f(x: Tensor) -> Tensor:\n    return x * len(x.shape)\n",
       {Of({-1, 4})},
       Verdict::kIndependent,
       ""},
      {"a key that is a number",
       "def f(x: Tensor) -> Tensor:\n    d = {1: torch.softmax(x, 0), 0: x}\n    return d[1]\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "is taken over all rows"},
      {"gathered from other rows",
       "def f(x: Tensor) -> Tensor:\n    y = x.reshape(-1, 2)\n    return x[:, :2] + y.gather(1, torch.zeros_like(x[:, "
       ":1], dtype=torch.long))\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "works along the axis of the rows"},
      {"gathered",
       "def f(x: Tensor, i: Tensor) -> Tensor:\n    return x.gather(1, i)\n",
       {Of({-1, 4}), Of({-1, 2}, at::kLong)},
       Verdict::kIndependent,
       ""},
      {"put from other rows",
       "def f(x: Tensor) -> Tensor:\n    return x.scatter(1, torch.zeros_like(x[:, :1], dtype=torch.long), "
       "x.reshape(-1, 2))\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "puts into rows what is not of them"},
      {"a loss of each row",
       "def f(x: Tensor) -> Tensor:\n    return torch.triplet_margin_loss(x, x * 2, x + 1, reduction=0)\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       "compares rows in a way that is not known"},
      {"the sum of losses",
       "def f(x: Tensor) -> Tensor:\n    return x + torch.triplet_margin_loss(x, x * 2, x + 1)\n",
       {Of({-1, 4})},
       Verdict::kDependent,
       "makes one of all rows"},
      {"distances",
       "def f(x: Tensor) -> Tensor:\n    return torch.cdist(x, x)\n",
       {Of({-1, 5, 4})},
       Verdict::kUnknown,
       "compares rows in a way that is not known"},
      {"summed to sizes",
       "def f(x: Tensor) -> Tensor:\n    return x.sum_to_size(x.size(0), 1)\n",
       {Of({-1, 4})},
       Verdict::kUnknown,
       ""},
      {"an operator without a rule",
       "def f(x: Tensor) -> Tensor:\n    return torch.linalg_svdvals(x)\n",
       {Of({-1, 3, 3})},
       Verdict::kUnknown,
       "batch_proof.py:7 has no rule for rows"},
  };
  return kPrograms;
}

TEST_F(BatchProofTest, WhatIsProvedIsSoInRuns) {
  at::manual_seed(7);
  for (const Program& program : Programs()) {
    SCOPED_TRACE(program.name);
    const BatchProof proof = Prove(program.text, program.arguments);
    EXPECT_EQ(proof.verdict, program.verdict) << proof.text;
    EXPECT_THAT(proof.text, HasSubstr(program.reason));
  }
}

TEST_F(BatchProofTest, WhereNothingIsSaidOfTensorsTheProofNamesTheirDimensions) {
  const auto proof = [&](const char* text) {
    return Load(text)->ProveBatch("f", std::vector<BatchArgument>(1)).value();
  };
  const BatchProof images = proof("def f(x: Tensor) -> Tensor:\n    return torch.conv2d(x, torch.ones(8, 3, 3, 3))\n");
  EXPECT_EQ(images.verdict, Verdict::kUnknown) << "of three dimensions it is one image";
  EXPECT_THAT(images.text, ::testing::EndsWith("rows are independent where they have 4")) << images.text;
  EXPECT_EQ(proof("def f(x: Tensor) -> Tensor:\n    return x + 1\n").text, "rows are independent");
  const BatchProof mixes = proof("def f(x: Tensor) -> Tensor:\n    return x - x.mean(0)\n");
  EXPECT_EQ(mixes.verdict, Verdict::kDependent) << mixes.text;
  const BatchProof by_rank = proof("def f(x: Tensor) -> Tensor:\n    return torch.softmax(x, -2)\n");
  EXPECT_EQ(by_rank.verdict, Verdict::kUnknown) << by_rank.text;
  const BatchProof branch =
      proof("def f(x: Tensor) -> Tensor:\n    if x.dim() == 2:\n        return torch.cumsum(x, 0)\n    return x\n");
  EXPECT_EQ(branch.verdict, Verdict::kUnknown) << branch.text;
}

TEST_F(BatchProofTest, WhatMixesForSomeDimensionsAloneIsNotProvedToMixWhereTheyAreNotKnown) {
  // A weight for each row, as it is meant.
  const auto model = Load("def f(x: Tensor, w: Tensor) -> Tensor:\n    return x * w[:, None, None]\n");
  EXPECT_EQ(model->ProveBatch("f", std::vector<BatchArgument>(2))->verdict, Verdict::kUnknown);
  EXPECT_EQ(model->ProveBatch("f", std::vector<BatchArgument>{Shape({-1, 5, 3}), Shape({-1})})->verdict,
            Verdict::kIndependent);
  EXPECT_EQ(model->ProveBatch("f", std::vector<BatchArgument>{Shape({-1, 5, 3}), Shape({-1, 5, 3})})->verdict,
            Verdict::kDependent);
}

TEST_F(BatchProofTest, WhatMayBeLeftOutIsLookedAtBothWays) {
  const char* text =
      "def f(x: Tensor, m: Optional[Tensor] = None) -> Tensor:\n    if m is None:\n        return MISSING\n"
      "    return x * m\n";
  const auto proof = [&](const std::string& missing, bool absent) {
    std::string with = text;
    with.replace(with.find("MISSING"), 7, missing);
    BatchArgument mask = Shape({-1, 3});
    mask.absent = absent;
    return Load(with)->ProveBatch("f", std::vector<BatchArgument>{Shape({-1, 3}), mask}).value();
  };
  EXPECT_EQ(proof("x", false).verdict, Verdict::kIndependent);
  EXPECT_EQ(proof("x - x.mean(0)", false).verdict, Verdict::kUnknown);
  EXPECT_EQ(proof("x - x.mean(0)", true).verdict, Verdict::kDependent) << "it is never given";
}

TEST_F(BatchProofTest, AllCombinationsAreLookedAtOfWhatMayBeLeftOut) {
  const auto verdict = [&](const std::string& arguments, const std::string& condition, size_t count) {
    std::vector<BatchArgument> given(count, Shape({-1, 3}));
    for (size_t i = 1; i < count; ++i) given[i].sizes.reset();
    const auto model = Load("def f(x: Tensor, " + arguments + ") -> Tensor:\n    if " + condition +
                            ":\n        return x - x.mean(0)\n    return x\n");
    return model->ProveBatch("f", given)->verdict;
  };
  const std::string two = "a: Optional[Tensor] = None, b: Optional[Tensor] = None";
  EXPECT_EQ(verdict(two, "a is not None and b is None", 3), Verdict::kUnknown);
  EXPECT_EQ(verdict(two + ", c: Optional[Tensor] = None, d: Optional[Tensor] = None, e: Optional[Tensor] = None",
                    "x.size(1) == 4", 6),
            Verdict::kUnknown);
  EXPECT_EQ(verdict("s: Optional[List[Tensor]] = None", "s is not None", 2), Verdict::kUnknown);
  EXPECT_EQ(verdict("s: Optional[Tuple[Tensor, Tensor]] = None", "s is not None", 2), Verdict::kUnknown);
  EXPECT_EQ(verdict("s: Tuple[Tensor, Optional[Tensor]]", "s[1] is None", 2), Verdict::kUnknown);
}

// Proofs try ranks that no call has.
TEST_F(BatchProofTest, OfACallThatCannotWorkNothingIsProved) {
  for (const std::string call : {"x.expand(3, 3)", "x.repeat(1, 2)"}) {
    const auto model = Load("def f(x: Tensor) -> Tensor:\n    return " + call + "\n");
    const std::vector<BatchArgument> arguments{Shape({-1, 2, 2, 3})};
    const auto proof = model->ProveBatch("f", arguments);
    ASSERT_TRUE(proof.ok()) << proof.status();
    EXPECT_EQ(proof->verdict, Verdict::kUnknown);
    EXPECT_THAT(proof->text, HasSubstr("is given fewer sizes than the tensor has"));
  }
}

}  // namespace
}  // namespace hearth
