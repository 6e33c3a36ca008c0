#include "plan/runner.h"

#include "plan/backend.h"
#include "plan/cuda_executor.h"

namespace hone {

Runner::Runner(std::shared_ptr<const Plan> plan, const WeightArrays& weights, ThreadPool& pool,
               Options options)
    : plan_(std::move(plan)),
      executor_(Backend::of(plan_->device()).executor(*plan_, weights, pool, std::move(options))) {}

CudaExecutor* Runner::cuda() const { return dynamic_cast<CudaExecutor*>(executor_.get()); }

}  // namespace hone
