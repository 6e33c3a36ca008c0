#include "ops/quantize.h"

#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {

Value quantize(Tape& tape, Value x) {
  if (const Quantized* known = tape.annotation<Quantized>(x)) return known->bytes;
  const Value q = quantized_value(tape.plan(), x);
  tape.plan().add({"quantize", {x}, {q}, [=](const Frame& frame) {
                     by_float(x.dtype, [&]<typename T>(T) {
                       kernels::quantize_rows<T>(frame.data<const T>(x), frame.rows(x),
                                                 {frame.data<uint8_t>(q), x.width}, frame.pool());
                     });
                   }});
  tape.annotate<Quantized>(x).bytes = q;
  return q;
}

}  // namespace hone::ops
