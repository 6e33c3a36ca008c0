#include <omp.h>

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

#include "gemm_cases.h"

namespace hone::bench {
namespace {

using dnnl::memory;

memory::data_type type_of(DType dtype) {
  if (dtype == DType::i8) return memory::data_type::s8;
  return dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

class OneDnn : public Product {
 public:
  OneDnn(const Case& c, const Inputs& inputs) : case_(c), stream_(engine_) {
    omp_set_num_threads(c.threads);
    const auto type = type_of(c.dtype);
    const bool bytes = c.dtype == DType::i8;
    const memory::desc a({c.m, c.k}, bytes ? memory::data_type::u8 : type, memory::format_tag::ab);
    const memory::desc weight({c.n, c.k}, type, memory::format_tag::any);
    const memory::desc bias({c.n}, memory::data_type::f32, memory::format_tag::a);
    const memory::desc out({c.m, c.n}, bytes ? memory::data_type::f32 : type,
                           memory::format_tag::ab);
    dnnl::primitive_attr scales;
    if (bytes) scales.set_output_scales(0, {kByteOfA * kByteOfWeight});
    const dnnl::inner_product_forward::primitive_desc description(
        {dnnl::prop_kind::forward_inference, a, weight, bias, out}, scales, engine_);
    primitive_ = dnnl::inner_product_forward(description);

    // Bytes stand for this much, divided by their scale; the bias comes under it too.
    const float byte_a = bytes ? 1 / kByteOfA : 1;
    const float byte_weight = bytes ? 1 / kByteOfWeight : 1;
    a_ = filled(inputs.a, byte_a, {c.m, c.k}, a);
    bias_ = filled(inputs.bias, byte_a * byte_weight, {c.n}, bias);
    out_ = memory(out, engine_);
    const memory packed =
        filled(inputs.weight, byte_weight, {c.n, c.k}, description.weights_desc());
    copies_ = copies_of(packed.get_data_handle(), description.weights_desc().get_size(), c.copies);
    for (int i = 0; i < c.copies; ++i) {
      weights_.emplace_back(description.weights_desc(), engine_, copies_.at(i));
    }
  }

  void run() override {
    omp_set_num_threads(case_.threads);
    primitive_.execute(stream_, {{DNNL_ARG_SRC, a_},
                                 {DNNL_ARG_WEIGHTS, weights_[next_++ % weights_.size()]},
                                 {DNNL_ARG_BIAS, bias_},
                                 {DNNL_ARG_DST, out_}});
    stream_.wait();
  }

  std::vector<float> result() const override {
    std::vector<float> values(case_.m * case_.n);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = case_.dtype == DType::bf16
                      ? to_float(static_cast<const bf16*>(out_.get_data_handle())[i])
                      : static_cast<const float*>(out_.get_data_handle())[i];
    }
    return values;
  }

 private:
  memory filled(std::vector<float> values, float factor, const memory::dims& dims,
                const memory::desc& wanted) {
    for (float& value : values) value *= factor;
    const auto tag = dims.size() == 1 ? memory::format_tag::a : memory::format_tag::ab;
    memory plain({dims, memory::data_type::f32, tag}, engine_, values.data());
    memory result(wanted, engine_);
    dnnl::reorder(plain, result).execute(stream_, plain, result);
    stream_.wait();
    return result;
  }

  Case case_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  dnnl::inner_product_forward primitive_;
  memory a_, bias_, out_;
  Copies copies_;
  std::vector<memory> weights_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Product> make_onednn(const Case& c, const Inputs& inputs) {
  if (c.dtype == DType::i8 && c.isa < Isa::avx512_vnni) return nullptr;
  try {
    return std::make_unique<OneDnn>(c, inputs);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw;
  }
}

void cap_onednn(Isa isa) {
  if (isa == Isa::avx2) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  } else if (isa < Isa::amx || cpu_info().amx_palette_leaf_empty) {
    dnnl::set_max_cpu_isa(isa == Isa::avx512 ? dnnl::cpu_isa::avx512_core
                                             : dnnl::cpu_isa::avx512_core_bf16);
  }
}

}  // namespace hone::bench
