#include "kernels/cuda/attention.h"

#include "kernels/cpu/attention_backward.h"
#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

struct Case {
  std::vector<int32_t> k_lengths;
  int64_t heads;
  int64_t head_size;
  std::vector<int32_t> q_lengths = {};  ///< empty: the same as k_lengths
  float p = 0.0f;
  float spread = 1.0f;
  bool relative = false, with_keys = false;
};
constexpr int64_t kPositions = 400;  // relative positions

std::vector<int32_t> offsets_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> offsets{0};
  for (const int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

int32_t longest(const std::vector<int32_t>& lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

/// The cases of the CPU's tests without relative positions, and lengths from 1 to 8192.
std::vector<Case> cases() {
  return {
      {{1}, 1, 1},
      {{2, 7, 1}, 3, 8},
      {{15, 16, 17}, 2, 20, {}, 0.1f},
      {{31, 0, 33, 3}, 2, 32, {}, 0.1f},
      {{63, 64, 65}, 2, 64},
      {{127, 128, 129}, 2, 64, {}, 0.5f},
      {{5, 80, 11}, 2, 80},
      {{128, 257}, 1, 128, {}, 0.1f},
      {{100, 65}, 1, 256},
      {{255, 256, 257}, 1, 33},
      {{600}, 1, 64, {}, 0.1f},
      {{}, 2, 64},
      {{0}, 2, 64},
      {{40, 300, 7, 0}, 2, 64, {1, 1, 1, 0}, 0.1f},
      {{40, 300, 7, 0}, 2, 32, {3, 140, 0, 2}},
      {{40, 300}, 1, 64, {}, 0.0f, 4.0f},
      {{11, 15, 33, 9, 16, 4, 1, 60}, 12, 64, {}, 0.1f},
      {{11, 15, 33, 9, 16, 4, 1, 60}, 12, 32, {1, 1, 1, 1, 1, 1, 1, 1}, 0.1f},
      {{32, 31, 1}, 3, 64, {}, 0.1f},
      {{128, 100, 127}, 2, 128, {}, 0.2f},
      {{128, 65}, 3, 32, {}, 0.2f},
      {{1, 2, 512, 64}, 2, 64, {}, 0.1f},
      {{511, 512, 513}, 1, 64},
      {{511, 1, 512, 63, 513, 130}, 1, 64, {}, 0.1f},
      {{1000, 191, 193, 65}, 1, 64, {}, 0.2f},
      {{300, 128, 129}, 2, 64, {65, 128, 63}, 0.1f},
      {{513, 64, 257}, 1, 32, {}, 0.1f},
      {{513, 64, 257}, 1, 128},
      {{513, 65, 127}, 1, 128, {200, 65, 1}, 0.1f},
      {{8192, 5}, 1, 64, {3, 5}, 0.1f},
      {{3, 2049}, 1, 32, {2, 70}, 0.1f},
  };
}

std::string name(const Case& c, DType dtype) {
  return testing::PrintToString(c.k_lengths) + " d " + std::to_string(c.head_size) + " p " +
         std::to_string(c.p) + " " + std::string(dtype_name(dtype));
}

/// q lies dense, k and v beside one another, and their gradients likewise; behind the sequences
/// there are rows that belong to none.
struct Layer {
  static constexpr int64_t kTail = 5;

  Layer(CudaStream& stream_, const Case& c, DType dtype_)
      : stream(stream_),
        dtype(dtype_),
        heads(c.heads),
        depth(c.head_size),
        width(heads * depth),
        k_offsets(offsets_of(c.k_lengths)),
        q_offsets(c.q_lengths.empty() ? k_offsets : offsets_of(c.q_lengths)),
        q_rows(q_offsets.back() + kTail),
        k_rows(k_offsets.back() + kTail),
        q(random_floats(q_rows * width, 1, dtype, c.spread)),
        kv(random_floats(k_rows * 2 * width, 2, dtype, c.spread)),
        dout(random_floats(q_rows * width, 3, dtype)),
        with(stream_, c.p, q_rows),
        gpu_q_offsets(stream_, q_offsets),
        gpu_k_offsets(stream_, k_offsets),
        gpu_q(stream_, dtype, q),
        gpu_kv(stream_, dtype, kv),
        gpu_dout(stream_, dtype, dout),
        gpu_out(stream_, dtype, q_rows * width),
        gpu_dq(stream_, dtype, q_rows * width),
        gpu_dkv(stream_, dtype, k_rows * 2 * width),
        gpu_sums(stream_, DType::f32, q_rows * heads),
        distances(random_floats((2 * kPositions - 1) * depth, 4, DType::f32)),
        gpu_distances(stream_, DType::f32, distances),
        gpu_ddistances(stream_, DType::f32, std::vector<float>(distances.size(), 0.5f)),
        gpu_touched(stream_, std::vector<uint8_t>(2 * kPositions - 1, 1)),
        gpu_places(stream_, places(q_offsets)) {
    if (c.relative) relative = {gpu_distances.floats(), kPositions, c.with_keys, gpu_places.data()};
    shape = {.q_offsets = gpu_q_offsets.data(),
             .k_offsets = gpu_k_offsets.data(),
             .sequences = int64_t(k_offsets.size()) - 1,
             .longest_q = longest(c.q_lengths.empty() ? c.k_lengths : c.q_lengths),
             .longest_k = longest(c.k_lengths),
             .q_rows = q_rows,
             .k_rows = k_rows,
             .heads = heads,
             .head_size = depth,
             .scale = 1.0f / std::sqrt(float(depth)),
             .dtype = dtype};
    kept = CudaBuffer(kernel_api().attention_kept_words(shape) * sizeof(uint32_t));
    stream.fill(kept.data(), 0xff, kept.size());
  }

  /// Gives the queries' places in their sequences; the tail's are never read.
  static std::vector<int32_t> places(const std::vector<int32_t>& offsets) {
    std::vector<int32_t> out;
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      for (int32_t i = 0; i < offsets[s + 1] - offsets[s]; ++i) out.push_back(i);
    }
    out.insert(out.end(), kTail, -1000000);
    return out;
  }

  Status forward(AttentionKernel kernel) {
    AttentionForward args;
    args.relative = relative;
    args.q = {gpu_q.data(), width};
    args.k = {gpu_kv.data(), 2 * width};
    args.v = {gpu_kv.at(width), 2 * width};
    args.out = gpu_out.data();
    args.log_sums = gpu_sums.floats();
    args.dropout = with.gpu;
    args.kept = kept.as<uint32_t>();
    return kernel_api().attention(shape, args, kernel, stream.handle());
  }
  Status backward(AttentionKernel kernel) {
    AttentionBackward args;
    args.relative = relative;
    args.ddistances = gpu_ddistances.floats();
    args.touched = gpu_touched.data();
    args.q = {gpu_q.data(), width};
    args.k = {gpu_kv.data(), 2 * width};
    args.v = {gpu_kv.at(width), 2 * width};
    args.out = gpu_out.data();
    args.dout = gpu_dout.data();
    args.log_sums = gpu_sums.floats();
    args.dropout = with.gpu;
    args.kept = kept.as<uint32_t>();
    args.dq = {gpu_dq.data(), width};
    args.dk = {gpu_dkv.data(), 2 * width};
    args.dv = {gpu_dkv.at(width), 2 * width};
    workspace = CudaBuffer(kernel_api().attention_backward_workspace(shape));
    stream.fill(workspace.data(), 0xff, workspace.size());
    return kernel_api().attention_backward(shape, args, workspace.data(), kernel, stream.handle());
  }

  CudaStream& stream;
  DType dtype;
  int64_t heads, depth, width;
  std::vector<int32_t> k_offsets, q_offsets;
  int64_t q_rows, k_rows;
  std::vector<float> q, kv, dout;
  DropoutRows with;
  DeviceVector<int32_t> gpu_q_offsets, gpu_k_offsets;
  DeviceArray gpu_q, gpu_kv, gpu_dout, gpu_out, gpu_dq, gpu_dkv, gpu_sums;
  std::vector<float> distances;
  DeviceArray gpu_distances, gpu_ddistances;
  DeviceVector<uint8_t> gpu_touched;
  DeviceVector<int32_t> gpu_places;
  RelativePositions relative;
  CudaBuffer workspace, kept;
  AttentionShape shape;
};

/// The CPU's attention in double; rows of the tail are zeros.
struct Reference {
  explicit Reference(const Layer& l)
      : q(widened(l.q)),
        kv(widened(l.kv)),
        dout(widened(l.dout)),
        out(q.size(), 0.0),
        dq(q.size(), 0.0),
        dkv(kv.size(), 0.0),
        sums(size_t(l.q_rows * l.heads), 0.0),
        distances(widened(l.distances)),
        ddistances(distances.size(), 0.5) {
    ThreadPool pool(1);
    kernels::RelativePositionsOf<double> relative;
    if (l.relative.distances) relative = {distances.data(), kPositions, l.relative.with_keys};
    const kernels::AttentionShape shape{
        l.q_offsets.data(), l.k_offsets.data(), l.shape.sequences, l.heads, l.depth, l.shape.scale};
    const kernels::HeadRows<double> keys{kv.data(), 2 * l.width};
    const kernels::HeadRows<double> values{kv.data() + l.width, 2 * l.width};
    kernels::attention(shape, kernels::HeadRows<double>{q.data(), l.width}, keys, values, relative,
                       out.data(), sums.data(), pool, l.with.cpu);
    kernels::attention_backward(
        shape,
        kernels::AttentionBackward<double>{.q = {q.data(), l.width},
                                           .k = keys,
                                           .v = values,
                                           .out = out.data(),
                                           .dout = dout.data(),
                                           .log_sums = sums.data(),
                                           .relative = relative,
                                           .dropout = l.with.cpu,
                                           .dq = {dq.data(), l.width},
                                           .dk = {dkv.data(), 2 * l.width},
                                           .dv = {dkv.data() + l.width, 2 * l.width},
                                           .ddistances = ddistances.data()},
        nullptr, pool);
  }
  std::vector<double> q, kv, dout, out, dq, dkv, sums, distances, ddistances;
};

class CudaAttention : public GpuTest {
 protected:
  static bool has_wgmma() {
    const CudaDevice& device = cuda_info().devices.at(0);
    return device.major == 9 && device.minor == 0;
  }
  /// Forward and backward of `layer` against the reference.
  void expect_values(Layer& layer, const Reference& ref, AttentionKernel forward,
                     AttentionKernel backward, double spread) {
    // Probabilities and their gradients are rounded to the dtype on tensor cores.
    const double narrow = layer.dtype == DType::bf16 ? 6e-3 : layer.dtype == DType::f16 ? 1e-3 : 0;
    const double error = narrow > 0 ? narrow : 5e-6 * spread * spread;
    check(layer.forward(forward));
    expect_near(layer.gpu_out.get(), ref.out, layer.dtype, error);
    check(layer.backward(backward));
    // dout . out was summed over rounded outputs.
    expect_near(layer.gpu_dq.get(), ref.dq, layer.dtype, 2.5 * error);
    expect_near(layer.gpu_dkv.get(), ref.dkv, layer.dtype, 2.5 * error);
  }
};

TEST_F(CudaAttention, Values) {
  for (const DType dtype : kDTypes) {
    for (const Case& c : cases()) {
      SCOPED_TRACE(name(c, dtype));
      Layer layer(stream(), c, dtype);
      const Reference ref(layer);
      using Kernel = AttentionKernel;
      expect_values(layer, ref, Kernel::automatic, Kernel::automatic, c.spread);
      const bool tensor_cores =
          dtype != DType::f32 && (layer.depth == 32 || layer.depth == 64 || layer.depth == 128);
      if (!tensor_cores) {
        EXPECT_NE(layer.forward(Kernel::flash), nullptr);
        continue;
      }
      expect_values(layer, ref, Kernel::flash, Kernel::plain, c.spread);
      expect_values(layer, ref, Kernel::flash, Kernel::flash, c.spread);
      if (has_wgmma()) {
        expect_values(layer, ref, Kernel::warpgroup, Kernel::warpgroup, c.spread);
      }
      if (std::max(layer.shape.longest_q, layer.shape.longest_k) <= 128) {
        expect_values(layer, ref, Kernel::flash, Kernel::whole_sequence, c.spread);
      } else {
        EXPECT_NE(layer.backward(Kernel::whole_sequence), nullptr);
      }
    }
  }
}

TEST_F(CudaAttention, RelativePositions) {
  const std::vector<Case> shapes = {
      {{1}, 1, 1},
      {{2, 7, 1}, 3, 8},
      {{31, 0, 33, 3}, 2, 32, {}, 0.1f},
      {{63, 64, 65, 399}, 2, 64, {}, 0.1f},
      {{100, 65}, 1, 256},
      {{40, 300, 7, 0}, 2, 64, {1, 1, 1, 0}, 0.1f},
      {{40, 300, 7, 0}, 2, 33, {3, 140, 0, 2}},
      {{}, 2, 64},
  };
  for (const DType dtype : kDTypes) {
    for (Case c : shapes) {
      c.relative = true;
      for (const bool with_keys : {false, true}) {
        c.with_keys = with_keys;
        SCOPED_TRACE(name(c, dtype) + (with_keys ? " with keys" : ""));
        Layer layer(stream(), c, dtype);
        const Reference ref(layer);
        expect_values(layer, ref, AttentionKernel::automatic, AttentionKernel::automatic, 2);
        // These gradients, too, are of rounded outputs.
        expect_near(layer.gpu_ddistances.get(), ref.ddistances, DType::f32,
                    dtype == DType::f32 ? 2e-5 : 2e-2);
        // Rows that are not marked hold nothing yet: 0.5 is not added to.
        layer.gpu_touched.set(std::vector<uint8_t>(2 * kPositions - 1));
        layer.gpu_ddistances.set(std::vector<float>(ref.ddistances.size(), 0.5f));
        check(layer.backward(AttentionKernel::automatic));
        const auto got = layer.gpu_ddistances.get();
        const auto touched = layer.gpu_touched.get();
        std::vector<double> expected(ref.ddistances);
        for (size_t i = 0; i < expected.size(); ++i) {
          if (touched[i / size_t(layer.depth)]) expected[i] -= 0.5;
        }
        expect_near(got, expected, DType::f32, dtype == DType::f32 ? 2e-5 : 2e-2);
        EXPECT_NE(layer.forward(AttentionKernel::flash), nullptr);
      }
    }
  }
}

TEST_F(CudaAttention, TwoRunsGiveTheSameBits) {
  const Case c{{7, 128, 1, 300, 13}, 3, 64, {}, 0.1f};
  for (const DType dtype : kDTypes) {
    Layer a(stream(), c, dtype), b(stream(), c, dtype);
    for (Layer* layer : {&a, &b}) {
      check(layer->forward(AttentionKernel::automatic));
      check(layer->backward(AttentionKernel::automatic));
    }
    EXPECT_EQ(a.gpu_out.bytes(), b.gpu_out.bytes());
    EXPECT_EQ(a.gpu_dq.bytes(), b.gpu_dq.bytes());
    EXPECT_EQ(a.gpu_dkv.bytes(), b.gpu_dkv.bytes());
  }
}

/// The offsets are read when the graph runs, not when it is recorded.
TEST_F(CudaAttention, ReplayFollowsTheOffsets) {
  const Case recorded{{50, 64, 20}, 2, 64, {}, 0.1f}, replayed{{64, 10, 60}, 2, 64, {}, 0.1f};
  Layer a(stream(), recorded, DType::bf16), b(stream(), replayed, DType::bf16);
  CudaGraph graph = stream().capture([&] { check(a.forward(AttentionKernel::automatic)); });
  a.gpu_q_offsets.set(b.q_offsets);
  a.gpu_k_offsets.set(b.k_offsets);
  graph.launch(stream());
  check(b.forward(AttentionKernel::automatic));
  EXPECT_EQ(a.gpu_out.bytes(), b.gpu_out.bytes());
}

}  // namespace
}  // namespace hone::kernels::cuda
