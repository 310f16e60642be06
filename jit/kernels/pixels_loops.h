// The loops of pixels.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

// Vectors of channels that are computed together, in registers.
constexpr int64_t kTogether = 4;

// Calls `function` for all channels, for several vectors of them at a time: with the first one and how many there are
// from there on, so that it knows of how many the last vector is.
template <typename Function>
void ForAllChannels(int64_t channels, const Function& function) {
  int64_t channel = 0;
  for (; channel + kTogether * kLanes <= channels; channel += kTogether * kLanes)
    function.template operator()<kTogether>(channel, channels - channel);
  for (; channel < channels; channel += kLanes) function.template operator()<1>(channel, channels - channel);
}

struct PixelOfRow {
  PixelRow pixels;
  const float* operator()(int64_t i) const { return pixels.first + i * pixels.stride; }
};
struct PixelOfList {
  const float* const* pixels;
  const float* operator()(int64_t i) const { return pixels[i]; }
};

// What a number adds to its channel's sum.
struct Itself {
  Vector operator()(Vector sum, Vector x) const { return Add(sum, x); }
};
struct ItsSquare {
  Vector operator()(Vector sum, Vector x) const { return MultiplyAdd(x, x, sum); }
};

template <typename Added, typename PixelAt>
void SumAll(PixelAt pixel_at, int64_t count, int64_t channels, float divisor, float* sums) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector all[kVectors];
    for (Vector& sum : all) sum = Zeros();
    for (int64_t pixel = 0; pixel < count; ++pixel) {
      const float* const from = pixel_at(pixel) + channel;
      for (int64_t i = 0; i < kVectors; ++i) all[i] = Added()(all[i], LoadFirst(from + i * kLanes, rest - i * kLanes));
    }
    for (int64_t i = 0; i < kVectors; ++i)
      StoreFirst(sums + channel + i * kLanes, rest - i * kLanes, Divide(all[i], Broadcast(divisor)));
  });
}

void SumAndSquare(const PixelRow& pixels, int64_t channels, float* sums, float* squares) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector all[kVectors], of_squares[kVectors];
    for (int64_t i = 0; i < kVectors; ++i) all[i] = of_squares[i] = Zeros();
    const float* from = pixels.first + channel;
    for (int64_t pixel = 0; pixel < pixels.count; ++pixel, from += pixels.stride) {
      for (int64_t i = 0; i < kVectors; ++i) {
        const Vector x = LoadFirst(from + i * kLanes, rest - i * kLanes);
        all[i] = Add(all[i], x);
        of_squares[i] = MultiplyAdd(x, x, of_squares[i]);
      }
    }
    for (int64_t i = 0; i < kVectors; ++i) {
      StoreFirst(sums + channel + i * kLanes, rest - i * kLanes, all[i]);
      StoreFirst(squares + channel + i * kLanes, rest - i * kLanes, of_squares[i]);
    }
  });
}

template <typename PixelAt>
void Largest(PixelAt pixel_at, int64_t count, int64_t channels, float* largest) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector all[kVectors];
    for (int64_t i = 0; i < kVectors; ++i) all[i] = LoadFirst(pixel_at(0) + channel + i * kLanes, rest - i * kLanes);
    for (int64_t pixel = 1; pixel < count; ++pixel) {
      const float* const from = pixel_at(pixel) + channel;
      for (int64_t i = 0; i < kVectors; ++i) {
        const Vector x = LoadFirst(from + i * kLanes, rest - i * kLanes);
        all[i] = WhereEqual(all[i], all[i], Max(all[i], x), all[i]);  // a NaN stays
      }
    }
    for (int64_t i = 0; i < kVectors; ++i) StoreFirst(largest + channel + i * kLanes, rest - i * kLanes, all[i]);
  });
}

void Blend(const float* const* pixels, const float* weights, int64_t count, int64_t channels, float* blended) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector all[kVectors];
    for (int64_t i = 0; i < kVectors; ++i)
      all[i] = Multiply(LoadFirst(pixels[0] + channel + i * kLanes, rest - i * kLanes), Broadcast(weights[0]));
    for (int64_t pixel = 1; pixel < count; ++pixel) {
      const Vector weight = Broadcast(weights[pixel]);
      for (int64_t i = 0; i < kVectors; ++i)
        all[i] = MultiplyAdd(LoadFirst(pixels[pixel] + channel + i * kLanes, rest - i * kLanes), weight, all[i]);
    }
    for (int64_t i = 0; i < kVectors; ++i) StoreFirst(blended + channel + i * kLanes, rest - i * kLanes, all[i]);
  });
}

// What is taken off a channel's numbers.
Vector BaseOf(const float* base, int64_t count) {
  const Vector largest = LoadFirst(base, count);
  return WhereEqual(largest, Broadcast(-std::numeric_limits<float>::infinity()), Zeros(), largest);
}

void SumExponentials(const PixelRow& pixels, int64_t channels, const float* base, float* sums) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector all[kVectors], of_channel[kVectors];
    for (int64_t i = 0; i < kVectors; ++i) {
      all[i] = Zeros();
      of_channel[i] = BaseOf(base + channel + i * kLanes, rest - i * kLanes);
    }
    const float* from = pixels.first + channel;
    for (int64_t pixel = 0; pixel < pixels.count; ++pixel, from += pixels.stride) {
      for (int64_t i = 0; i < kVectors; ++i)
        all[i] = Add(all[i], Exp(Subtract(LoadFirst(from + i * kLanes, rest - i * kLanes), of_channel[i])));
    }
    for (int64_t i = 0; i < kVectors; ++i) StoreFirst(sums + channel + i * kLanes, rest - i * kLanes, all[i]);
  });
}

void ScaleExponentials(const PixelRow& pixels, int64_t channels, const float* base, const float* factors, float* to,
                       int64_t to_stride) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector factor[kVectors], of_channel[kVectors];
    for (int64_t i = 0; i < kVectors; ++i) {
      factor[i] = LoadFirst(factors + channel + i * kLanes, rest - i * kLanes);
      of_channel[i] = BaseOf(base + channel + i * kLanes, rest - i * kLanes);
    }
    const float* from = pixels.first + channel;
    for (int64_t pixel = 0; pixel < pixels.count; ++pixel, from += pixels.stride) {
      for (int64_t i = 0; i < kVectors; ++i) {
        const Vector x = LoadFirst(from + i * kLanes, rest - i * kLanes);
        StoreFirst(to + pixel * to_stride + channel + i * kLanes, rest - i * kLanes,
                   Multiply(Exp(Subtract(x, of_channel[i])), factor[i]));
      }
    }
  });
}

void ScaleAll(const PixelRow& pixels, int64_t channels, const float* factors, const float* offsets, float* to) {
  ForAllChannels(channels, [&]<int64_t kVectors>(int64_t channel, int64_t rest) {
    Vector factor[kVectors], offset[kVectors];
    for (int64_t i = 0; i < kVectors; ++i) {
      factor[i] = LoadFirst(factors + channel + i * kLanes, rest - i * kLanes);
      offset[i] = LoadFirst(offsets + channel + i * kLanes, rest - i * kLanes);
    }
    for (int64_t pixel = 0; pixel < pixels.count; ++pixel) {
      const int64_t at = pixel * pixels.stride + channel;
      for (int64_t i = 0; i < kVectors; ++i) {
        const Vector x = LoadFirst(pixels.first + at + i * kLanes, rest - i * kLanes);
        StoreFirst(to + at + i * kLanes, rest - i * kLanes, MultiplyAdd(x, factor[i], offset[i]));
      }
    }
  });
}
