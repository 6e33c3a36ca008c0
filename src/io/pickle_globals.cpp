#include "io/pickle_globals.h"

#include <array>

namespace hone::io {
namespace {

using Role = PickleGlobal::Role;

constexpr std::array<PickleGlobal, 14> kGlobals = {{
    {"collections.OrderedDict", Role::ordered_dict},
    {"torch._utils._rebuild_tensor", Role::rebuild_tensor},
    {"torch._utils._rebuild_tensor_v2", Role::rebuild_tensor},
    {"torch._utils._rebuild_parameter", Role::rebuild_parameter},
    {"torch.DoubleStorage", Role::storage, DType::f64},
    {"torch.FloatStorage", Role::storage, DType::f32},
    {"torch.HalfStorage", Role::storage, DType::f16},
    {"torch.BFloat16Storage", Role::storage, DType::bf16},
    {"torch.LongStorage", Role::storage, DType::i64},
    {"torch.IntStorage", Role::storage, DType::i32},
    {"torch.ShortStorage", Role::storage, DType::i16},
    {"torch.CharStorage", Role::storage, DType::i8},
    {"torch.ByteStorage", Role::storage, DType::u8},
    {"torch.BoolStorage", Role::storage, DType::boolean},
}};

}  // namespace

int find_pickle_global(std::string_view name) {
  for (size_t i = 0; i < kGlobals.size(); ++i) {
    if (kGlobals[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const PickleGlobal& pickle_global(int index) { return kGlobals[static_cast<size_t>(index)]; }

}  // namespace hone::io
