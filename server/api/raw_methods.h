// A generated service whose methods, named by its templates WithRawCallbackMethod_..., are on gRPC's callback API and
// get their messages as the bytes that arrived.
#pragma once

namespace hearth::server {

template <typename Service, template <typename> typename... Methods>
struct WithRawMethods {
  using Type = Service;
};

template <typename Service, template <typename> typename First, template <typename> typename... Rest>
struct WithRawMethods<Service, First, Rest...> {
  using Type = First<typename WithRawMethods<Service, Rest...>::Type>;
};

}  // namespace hearth::server
