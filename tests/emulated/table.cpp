// The table of the emulation's kernels. Those that it lacks refuse, so that a plan that needs them
// says so.

#include "kernels/cuda/api.h"

namespace hone::emulated {
namespace {

template <typename Function>
struct Lacking;
template <typename... Arguments>
struct Lacking<kernels::cuda::Status (*)(Arguments...)> {
  static kernels::cuda::Status call(Arguments...) { return "the emulation has no such kernel"; }
};
template <typename... Arguments>
struct Lacking<bool (*)(Arguments...)> {
  static bool call(Arguments...) { return false; }
};
template <typename Result, typename... Arguments>
struct Lacking<Result (*)(Arguments...)> {
  static Result call(Arguments...) { return 0; }
};

template <typename Function>
void lack(Function& entry) {
  entry = Lacking<Function>::call;
}

kernels::cuda::KernelApi made_table() {
  using namespace kernels::cuda;
  KernelApi api = {};
  api.version = kKernelApiVersion;
  api.product_prepare = product_prepare;
  api.product_tune = product_tune;
  api.product = product;
  api.product_restore = product_restore;
  api.product_tuned = product_tuned;
  api.product_library = product_library;
  api.row_sums_workspace = row_sums_workspace;
  api.one_row_sum_workspace = one_row_sum_workspace;
  api.column_sums = column_sums;
  api.add_row_sums = add_row_sums;
  api.convert = convert;
  api.head = head;
  api.head_backward = head_backward;
  api.loss = loss;
  api.optimizer_workspace = optimizer_workspace;
  api.adamw = adamw;
  api.sgd = sgd;
  api.add = add;
  api.scale = scale;
  api.batch_norm = batch_norm;
  api.batch_norm_backward = batch_norm_backward;
  api.batch_norm_workspace = batch_norm_workspace;
  api.add_relu = add_relu;
  api.relu_backward = relu_backward;
  api.convolution_fits = convolution_fits;
  api.convolution = convolution;
  api.convolution_gradient_fits = convolution_gradient_fits;
  api.convolution_gradient = convolution_gradient;
  api.convolution_weight_gradient_fits = convolution_weight_gradient_fits;
  api.convolution_weight_gradient_workspace = convolution_weight_gradient_workspace;
  api.convolution_weight_gradient = convolution_weight_gradient;
  api.patches = patches;
  api.sum_patches = sum_patches;
  api.max_pool = max_pool;
  api.max_pool_backward = max_pool_backward;
  api.average_pool = average_pool;
  api.average_pool_backward = average_pool_backward;
  api.global_average = global_average;
  api.global_average_backward = global_average_backward;
  api.padded_shortcut = padded_shortcut;
  api.padded_shortcut_backward = padded_shortcut_backward;
  api.pixels = pixels;
  api.phrase_rows = phrase_rows;
  api.phrase_rows_backward = phrase_rows_backward;
  api.phrase_means = phrase_means;
  api.phrase_means_backward = phrase_means_backward;
  api.concept_attention = concept_attention;
  api.concept_attention_backward = concept_attention_backward;
  api.concept_contexts = concept_contexts;
  api.search_concepts_workspace = search_concepts_workspace;
  api.search_concepts = search_concepts;
  api.concept_vectors = concept_vectors;
  api.span_rows = span_rows;
  api.span_rows_backward = span_rows_backward;
  api.tree_loss = tree_loss;
  api.parse_phrases = parse_phrases;
  api.activate = activate;
  api.activation_backward = activation_backward;
  api.attention = attention;
  api.attention_kept_words = attention_kept_words;
  api.attention_backward_workspace = attention_backward_workspace;
  api.attention_backward = attention_backward;
  api.layer_norm = layer_norm;
  api.embed_and_normalize = embed_and_normalize;
  api.layer_norm_backward = layer_norm_backward;
  api.embedding_backward_workspace = embedding_backward_workspace;
  api.embedding_backward = embedding_backward;
  api.apply_dropout = apply_dropout;
  api.gather_rows = gather_rows;
  api.scatter_rows = scatter_rows;
  api.binary_logits = binary_logits;
  lack(api.adamw_8bit);
  lack(api.lstm);
  lack(api.lstm_backward);
  lack(api.pool_sequences);
  lack(api.l2_normalize);
  lack(api.linear_gelu_fits);
  lack(api.linear_gelu);
  lack(api.linear_gelu_backward_fits);
  lack(api.linear_gelu_backward);
  lack(api.takes_linear_small);
  lack(api.linear_small);
  lack(api.quantize_fp8);
  lack(api.fp8_products);
  return api;
}

}  // namespace
}  // namespace hone::emulated

extern "C" const hone::kernels::cuda::KernelApi* hone_cuda_kernel_api() {
  static const hone::kernels::cuda::KernelApi api = hone::emulated::made_table();
  return &api;
}
