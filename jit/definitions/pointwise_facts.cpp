#include "jit/definitions/pointwise_facts.h"

#include <optional>

#include "jit/definitions/operand_order.h"
#include "jit/definitions/shared_rules.h"

namespace hearth {
namespace facts {

void Like(Call& call) {
  call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes);
  if (call.in(0).contiguous()) call.GiveOrder(call.in(0).order);
}
void LikeInOrder(Call& call) {
  Like(call);
  call.GiveOrder(OrderOfNewLike(call.sizes(), call.in(0)));
}
void LikeFloating(Call& call) {
  LikeInOrder(call);
  call.out().dtype = Floating(call.in(0).dtype);
}
void LikeBool(Call& call) {
  LikeInOrder(call);
  call.out().dtype = c10::kBool;
}
void Magnitude(Call& call) {
  LikeInOrder(call);
  if (call.in(0).dtype && c10::isComplexType(*call.in(0).dtype)) call.out().dtype.reset();
}

void Elementwise(Call& call, Dtype dtype) {
  if (!call.is_tensor_type(1)) {
    if (!call.is_tensor_type(0)) return;
    call.Give(0, call.in(0), dtype, call.in(0).sizes);
    return call.GiveOrder(OrderOfNewLike(call.sizes(), call.in(0)));
  }
  if (!call.is_tensor_type(0)) {
    call.Give(0, call.in(1), dtype, call.in(1).sizes);
    if (call.in(1).contiguous()) call.GiveOrder(call.in(1).order);
    return;
  }
  const std::optional<KnownSizes> sizes = Broadcast(call.sizes(), call.in(0).sizes, call.in(1).sizes);
  call.Give(0, call.in(0), dtype, sizes);
  call.GiveOrder(OrderOfAll(call.sizes(), {&call.in(0), &call.in(1)}, sizes));
}
void BinaryFloating(Call& call) { Elementwise(call, Floating(Promoted(call, {0, 1}))); }
void Compare(Call& call) { Elementwise(call, c10::kBool); }

}  // namespace facts

void Binary(Call& call) { facts::Elementwise(call, Promoted(call, {0, 1})); }

}  // namespace hearth
