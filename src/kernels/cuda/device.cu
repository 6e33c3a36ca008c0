// The plugin's device table, and both of its entries.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "device/cuda_api.h"
#include "kernels/cuda/api.h"

namespace hone {
namespace {

CudaStatus status_of(cudaError_t error) {
  if (error == cudaSuccess) return nullptr;
  cudaGetLastError();  // a sticky error stays; any other belongs to this call alone
  return cudaGetErrorString(error);
}
cudaStream_t stream_of(CudaHandle handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t event_of(CudaHandle handle) { return static_cast<cudaEvent_t>(handle); }

__global__ void probe_kernel() {}

CudaStatus versions(int32_t* runtime, int32_t* driver) {
  int found_runtime = 0, found_driver = 0;
  const cudaError_t first = cudaRuntimeGetVersion(&found_runtime);
  const cudaError_t second = cudaDriverGetVersion(&found_driver);
  *runtime = found_runtime;
  *driver = found_driver;
  return status_of(first != cudaSuccess ? first : second);
}

CudaStatus device_count(int32_t* count) {
  int found = 0;
  const cudaError_t error = cudaGetDeviceCount(&found);
  *count = error == cudaSuccess ? found : 0;
  return error == cudaErrorNoDevice ? nullptr : status_of(error);
}

CudaStatus device_facts(int32_t device, CudaDeviceFacts* facts) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device)) {
    return status_of(error);
  }
  std::snprintf(facts->name, sizeof facts->name, "%s", properties.name);
  facts->missing[0] = '\0';
  facts->memory_bytes = properties.totalGlobalMem;
  facts->l2_bytes = static_cast<uint64_t>(properties.l2CacheSize);
  facts->major = properties.major;
  facts->minor = properties.minor;
  facts->multiprocessors = properties.multiProcessorCount;
  int before = 0;
  cudaGetDevice(&before);
  cudaFuncAttributes attributes;
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, probe_kernel);
  cudaSetDevice(before);
  if (error != cudaSuccess) {
    std::snprintf(facts->missing, sizeof facts->missing, "%s", status_of(error));
  }
  return nullptr;
}

CudaStatus use_device(int32_t device) { return status_of(cudaSetDevice(device)); }
CudaStatus memory_info(uint64_t* free_bytes, uint64_t* total_bytes) {
  size_t available = 0, total = 0;
  const cudaError_t error = cudaMemGetInfo(&available, &total);
  *free_bytes = available;
  *total_bytes = total;
  return status_of(error);
}
CudaStatus allocate(size_t bytes, void** data) { return status_of(cudaMalloc(data, bytes)); }
CudaStatus release(void* data) { return status_of(cudaFree(data)); }
CudaStatus allocate_pinned(size_t bytes, void** data) {
  return status_of(cudaMallocHost(data, bytes));
}
CudaStatus release_pinned(void* data) { return status_of(cudaFreeHost(data)); }
CudaStatus copy(void* to, const void* from, size_t bytes, CudaHandle stream) {
  return status_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)));
}
CudaStatus fill(void* data, int32_t byte, size_t bytes, CudaHandle stream) {
  return status_of(cudaMemsetAsync(data, byte, bytes, stream_of(stream)));
}

CudaStatus create_stream(CudaHandle* stream) {
  cudaStream_t created = nullptr;
  const cudaError_t error = cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking);
  *stream = created;
  return status_of(error);
}
CudaStatus destroy_stream(CudaHandle stream) {
  return status_of(cudaStreamDestroy(stream_of(stream)));
}
CudaStatus synchronize(CudaHandle stream) {
  return status_of(cudaStreamSynchronize(stream_of(stream)));
}
CudaStatus create_event(CudaHandle* event) {
  cudaEvent_t created = nullptr;
  const cudaError_t error = cudaEventCreate(&created);
  *event = created;
  return status_of(error);
}
CudaStatus destroy_event(CudaHandle event) { return status_of(cudaEventDestroy(event_of(event))); }
CudaStatus record_event(CudaHandle event, CudaHandle stream) {
  return status_of(cudaEventRecord(event_of(event), stream_of(stream)));
}
CudaStatus wait_event(CudaHandle event, CudaHandle stream) {
  return status_of(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}
CudaStatus synchronize_event(CudaHandle event) {
  return status_of(cudaEventSynchronize(event_of(event)));
}
CudaStatus elapsed_ms(CudaHandle start, CudaHandle end, float* ms) {
  return status_of(cudaEventElapsedTime(ms, event_of(start), event_of(end)));
}

CudaStatus begin_capture(CudaHandle stream) {
  return status_of(cudaStreamBeginCapture(stream_of(stream), cudaStreamCaptureModeThreadLocal));
}
CudaStatus end_capture(CudaHandle stream, CudaHandle* graph, uint64_t* nodes) {
  cudaGraph_t recorded = nullptr;
  if (const cudaError_t error = cudaStreamEndCapture(stream_of(stream), &recorded)) {
    return status_of(error);
  }
  size_t count = 0;
  cudaGraphExec_t executable = nullptr;
  cudaError_t error = cudaGraphGetNodes(recorded, nullptr, &count);
  if (error == cudaSuccess) error = cudaGraphInstantiate(&executable, recorded, 0);
  cudaGraphDestroy(recorded);
  *graph = executable;
  *nodes = count;
  return status_of(error);
}
CudaStatus launch_graph(CudaHandle graph, CudaHandle stream) {
  return status_of(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_of(stream)));
}
CudaStatus destroy_graph(CudaHandle graph) {
  return status_of(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
}

}  // namespace
}  // namespace hone

extern "C" const hone::CudaDeviceApi* hone_cuda_device_api() {
  using namespace hone;
  static const CudaDeviceApi api = {
      kCudaApiVersion, versions,       device_count, device_facts,
      use_device,      memory_info,    allocate,     release,
      allocate_pinned, release_pinned, copy,         fill,
      create_stream,   destroy_stream, synchronize,  create_event,
      destroy_event,   record_event,   wait_event,   synchronize_event,
      elapsed_ms,      begin_capture,  end_capture,  launch_graph,
      destroy_graph};
  return &api;
}

extern "C" const hone::kernels::cuda::KernelApi* hone_cuda_kernel_api() {
  using namespace hone::kernels::cuda;
  static const KernelApi api = {
      .version = kKernelApiVersion,
      .product_prepare = product_prepare,
      .product_tune = product_tune,
      .product = product,
      .product_restore = product_restore,
      .product_tuned = product_tuned,
      .product_library = product_library,
      .attention = attention,
      .attention_kept_words = attention_kept_words,
      .attention_backward_workspace = attention_backward_workspace,
      .attention_backward = attention_backward,
      .layer_norm = layer_norm,
      .embed_and_normalize = embed_and_normalize,
      .layer_norm_backward = layer_norm_backward,
      .row_sums_workspace = row_sums_workspace,
      .one_row_sum_workspace = one_row_sum_workspace,
      .column_sums = column_sums,
      .add_row_sums = add_row_sums,
      .embedding_backward_workspace = embedding_backward_workspace,
      .embedding_backward = embedding_backward,
      .activate = activate,
      .activation_backward = activation_backward,
      .convert = convert,
      .apply_dropout = apply_dropout,
      .gather_rows = gather_rows,
      .scatter_rows = scatter_rows,
      .head = head,
      .head_backward = head_backward,
      .binary_logits = binary_logits,
      .loss = loss,
      .optimizer_workspace = optimizer_workspace,
      .adamw = adamw,
      .adamw_8bit = adamw_8bit,
      .sgd = sgd,
      .add = add,
      .scale = scale,
      .batch_norm = batch_norm,
      .batch_norm_backward = batch_norm_backward,
      .batch_norm_workspace = batch_norm_workspace,
      .add_relu = add_relu,
      .relu_backward = relu_backward,
      .convolution_fits = convolution_fits,
      .convolution = convolution,
      .convolution_gradient_fits = convolution_gradient_fits,
      .convolution_gradient = convolution_gradient,
      .convolution_weight_gradient_fits = convolution_weight_gradient_fits,
      .convolution_weight_gradient_workspace = convolution_weight_gradient_workspace,
      .convolution_weight_gradient = convolution_weight_gradient,
      .patches = patches,
      .sum_patches = sum_patches,
      .max_pool = max_pool,
      .max_pool_backward = max_pool_backward,
      .average_pool = average_pool,
      .average_pool_backward = average_pool_backward,
      .global_average = global_average,
      .global_average_backward = global_average_backward,
      .padded_shortcut = padded_shortcut,
      .padded_shortcut_backward = padded_shortcut_backward,
      .pixels = pixels,
      .lstm = lstm,
      .lstm_backward = lstm_backward,
      .pool_sequences = pool_sequences,
      .l2_normalize = l2_normalize,
      .linear_gelu_fits = linear_gelu_fits,
      .linear_gelu = linear_gelu,
      .linear_gelu_backward_fits = linear_gelu_backward_fits,
      .linear_gelu_backward = linear_gelu_backward,
      .takes_linear_small = takes_linear_small,
      .linear_small = linear_small,
      .phrase_rows = phrase_rows,
      .phrase_rows_backward = phrase_rows_backward,
      .phrase_means = phrase_means,
      .phrase_means_backward = phrase_means_backward,
      .concept_attention = concept_attention,
      .concept_attention_backward = concept_attention_backward,
      .concept_contexts = concept_contexts,
      .search_concepts_workspace = search_concepts_workspace,
      .search_concepts = search_concepts,
      .concept_vectors = concept_vectors,
      .span_rows = span_rows,
      .span_rows_backward = span_rows_backward,
      .tree_loss = tree_loss,
      .parse_phrases = parse_phrases,
      .quantize_fp8 = quantize_fp8,
      .fp8_products = fp8_products,
  };
  return &api;
}
