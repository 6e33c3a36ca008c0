#include <fmt/format.h>

#include "device/cpu_info.h"

namespace hone {
namespace {

struct CoreName {
  uint32_t part;
  const char* name;
};
/// Cores of ARM's own that hone is likely to meet, by the part number of their MIDR_EL1.
constexpr CoreName kArmCores[] = {
    {0xd03, "Cortex-A53"},  {0xd04, "Cortex-A35"},  {0xd05, "Cortex-A55"},  {0xd07, "Cortex-A57"},
    {0xd08, "Cortex-A72"},  {0xd09, "Cortex-A73"},  {0xd0a, "Cortex-A75"},  {0xd0b, "Cortex-A76"},
    {0xd0c, "Neoverse-N1"}, {0xd0d, "Cortex-A77"},  {0xd40, "Neoverse-V1"}, {0xd41, "Cortex-A78"},
    {0xd46, "Cortex-A510"}, {0xd47, "Cortex-A710"}, {0xd49, "Neoverse-N2"}, {0xd4f, "Neoverse-V2"},
};
constexpr uint32_t kImplementerArm = 0x41;

std::string core_name(uint32_t midr) {
  const uint32_t implementer = midr >> 24;
  const uint32_t part = (midr >> 4) & 0xfff;
  if (implementer == kImplementerArm) {
    for (const CoreName& core : kArmCores) {
      if (core.part == part) return core.name;
    }
  }
  return fmt::format("64-bit ARM, implementer {:#x}, part {:#x}", implementer, part);
}

}  // namespace

CpuInfo detect_arm(uint64_t hwcap, uint64_t hwcap2, uint32_t midr) {
  constexpr uint64_t kAsimd = uint64_t{1} << 1;
  constexpr uint64_t kDotprod = uint64_t{1} << 20;
  constexpr uint64_t kI8mm = uint64_t{1} << 13;
  constexpr uint64_t kBf16 = uint64_t{1} << 14;
  CpuInfo cpu;
  cpu.vendor = "ARM";
  cpu.name = midr == 0 ? "64-bit ARM" : core_name(midr);
  cpu.model = static_cast<int>((midr >> 4) & 0xfff);
  cpu.neon = (hwcap & kAsimd) != 0;
  cpu.neon_dotprod = cpu.neon && (hwcap & kDotprod) != 0;
  cpu.neon_i8mm = cpu.neon && (hwcap2 & kI8mm) != 0;
  cpu.neon_bf16 = cpu.neon && (hwcap2 & kBf16) != 0;
  return cpu;
}

}  // namespace hone
