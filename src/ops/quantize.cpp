#include "ops/quantize.h"

#include "ops/by_dtype.h"
#include "plan/execution.h"

namespace hone::ops {

Value quantize(Tape& tape, Value x) {
  if (const std::optional<Value> known = tape.quantized(x)) return *known;
  const Value q = quantized_value(tape.plan(), x);
  tape.plan().add({"quantize", {x}, {q}, [=](const Frame& frame) {
                     by_float(x.dtype, [&]<typename T>(T) {
                       kernels::quantize_rows<T>(frame.data<const T>(x), frame.rows(x),
                                                 {frame.data<uint8_t>(q), x.width}, frame.pool());
                     });
                   }});
  tape.set_quantized(x, q);
  return q;
}

}  // namespace hone::ops
