#include "ops/layer_norm.h"

#include "kernels/cpu/layer_norm.h"
#include "ops/by_dtype.h"
#include "plan/execution.h"

namespace hone::ops {

Value layer_norm(Plan& plan, Value x, Weight weight, Weight bias, float eps, DType out) {
  const Value y = plan.temporary(out, x.rows, x.width);
  plan.add({"layer_norm", {x}, {y}, [=](const Frame& frame) {
              const kernels::NormWeights norm{frame.weight<float>(weight),
                                              frame.weight<float>(bias), eps};
              by_dtype(x.dtype, [&]<typename In>(In) {
                by_dtype(y.dtype, [&]<typename Out>(Out) {
                  kernels::layer_norm<In, In, Out>(frame.data<const In>(x), nullptr, norm,
                                                   frame.rows(x), x.width, frame.data<Out>(y), {},
                                                   frame.pool());
                });
              });
            }});
  return y;
}

}  // namespace hone::ops
