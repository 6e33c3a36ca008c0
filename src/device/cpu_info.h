#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// Instruction sets a kernel may be written for, each including those before it on its
/// architecture. NEON and AVX2 are the least that hone runs on.
enum class Isa : uint8_t {
  neon,          ///< every 64-bit ARM
  neon_dotprod,  ///< adds dot products of bytes
  neon_i8mm,     ///< adds products of small matrices of bytes
  neon_bf16,     ///< adds those of bf16
  avx2,          ///< AVX2, FMA, F16C
  avx512,        ///< AVX-512 F, BW, CD, DQ, VL
  avx512_vnni,   ///< adds dot products of bytes
  avx512_bf16,   ///< adds dot products of bf16
  amx,           ///< adds tiles of bf16
  none,          ///< nothing is packed: rows lie one behind the other, as GPUs read them
};
std::string_view isa_name(Isa isa);

struct CpuidRegisters {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Tells where the facts about a processor come from; tests hand in tables.
struct CpuProbe {
  std::function<CpuidRegisters(uint32_t leaf, uint32_t subleaf)> cpuid;
  std::function<uint64_t()> xcr0;
  /// Asks the system for the AMX tile state (arch_prctl ARCH_REQ_XCOMP_PERM).
  std::function<bool()> permit_amx;
};

struct CpuInfo {
  std::string vendor;  ///< "GenuineIntel", "AuthenticAMD", "ARM"
  std::string name;    ///< the brand string, or the name of the core
  int family = 0;
  int model = 0;
  bool neon = false;
  bool neon_dotprod = false;
  bool neon_i8mm = false;
  bool neon_bf16 = false;
  bool avx2 = false;
  bool avx512 = false;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  /// True where CPUID has the bits, the system saves the tiles (XCR0 bits 17 and 18) and has
  /// granted them.
  bool amx_bf16 = false;
  bool amx_int8 = false;
  /// True where AMX is usable but leaf 0x1D lists no palette, as on Firecracker guests. Palette 1
  /// written by hand works there; oneDNN, which asks the leaf, dies with SIGILL unless its ISA is
  /// capped.
  bool amx_palette_leaf_empty = false;
};

CpuInfo detect_cpu(const CpuProbe& probe);
/// Tells a 64-bit ARM from the words that the system hands a program (getauxval of AT_HWCAP and
/// AT_HWCAP2) and from the core's identification register, 0 where it cannot be read.
CpuInfo detect_arm(uint64_t hwcap, uint64_t hwcap2, uint32_t midr);
/// Gives this machine's facts, detected once. The AMX permission that it asks for is kept by all
/// later threads.
const CpuInfo& cpu_info();

std::vector<Isa> available_isas(const CpuInfo& cpu = cpu_info());

/// Chooses the fastest instruction set for this processor, or the one that `requested` names (null
/// or empty: none). It fails with kind usage if that is unknown or not available, with unsupported
/// if the processor has none. bf16 products of AVX-512 are not taken by default on Intel: measured
/// there without AMX, 153 GFLOP/s against 270 for fp32 on two threads; on Zen 4 they are twice as
/// fast as fp32.
Isa choose_isa(const char* requested, const CpuInfo& cpu = cpu_info());
/// Gives choose_isa(HONE_ISA), read once, unless a ScopedIsa stands.
Isa chosen_isa();

/// Sets chosen_isa() of the whole process while it lives, as tests do.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa);
  ~ScopedIsa();
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  int before_;
};

struct KernelChoice {
  std::string dtype;
  std::string kernel;
  std::string reason;
};
/// Says what matrix products of each dtype will use under `isa`, and why, for `hone info`.
std::vector<KernelChoice> kernel_choices(Isa isa, const CpuInfo& cpu = cpu_info());

/// Counts the cores that the process may really use: those of its affinity, cut by cgroup CPU
/// quotas (v1 and v2, of every ancestor). They are at least 1; a fractional quota is rounded down,
/// since workers that spin while they wait are throttled together. Two hardware threads of a core
/// count once: beside a busy one the other does half as many instructions, and not a quarter as
/// many tiles of AMX, which then go one after the other (Sapphire Rapids, four products from the L1
/// cache: 270 cycles against 59). `root` is the folder that stands for "/".
int usable_cores(const std::string& root = "");

}  // namespace hone
