#include "device/cpu_info.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace hone {
namespace {

constexpr bool bit(uint64_t word, int index) { return ((word >> index) & 1) != 0; }
constexpr bool all_bits(uint64_t word, uint64_t mask) { return (word & mask) == mask; }

// The bits of XCR0 are: SSE and AVX state; opmask and the two upper ZMM parts; tile configuration
// and data.
constexpr uint64_t kXcr0Avx = 0x6;
constexpr uint64_t kXcr0Avx512 = 0xe6;
constexpr uint64_t kXcr0Amx = (uint64_t{1} << 17) | (uint64_t{1} << 18);

#if defined(__x86_64__)
constexpr long kArchReqXcompPerm = 0x1023;
constexpr long kXfeatureTileData = 18;

CpuInfo this_machine() {
  CpuProbe probe;
  probe.cpuid = [](uint32_t leaf, uint32_t subleaf) {
    CpuidRegisters r;
    // This asks the processor even beyond the basic limit it reports, unlike __get_cpuid_count.
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
  };
  probe.xcr0 = [] {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (static_cast<uint64_t>(high) << 32) | low;
  };
  probe.permit_amx = [] {
    return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0;
  };
  return detect_cpu(probe);
}
#elif defined(__aarch64__)
CpuInfo this_machine() {
  constexpr uint64_t kReadsIdentification = 1
                                            << 11;  // HWCAP_CPUID: the system answers for the core
  const uint64_t hwcap = getauxval(AT_HWCAP);
  uint64_t midr = 0;
  if ((hwcap & kReadsIdentification) != 0) __asm__("mrs %0, midr_el1" : "=r"(midr));
  return detect_arm(hwcap, getauxval(AT_HWCAP2), static_cast<uint32_t>(midr));
}
#endif

std::string text_of(std::initializer_list<uint32_t> registers) {
  std::string text;
  for (uint32_t word : registers) {
    char bytes[4];
    std::memcpy(bytes, &word, 4);
    text.append(bytes, 4);
  }
  return text;
}

std::string brand(const CpuProbe& probe) {
  if (probe.cpuid(0x80000000u, 0).eax < 0x80000004u) return "";
  std::string name;
  for (uint32_t leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf) {
    const CpuidRegisters r = probe.cpuid(leaf, 0);
    name += text_of({r.eax, r.ebx, r.ecx, r.edx});
  }
  name.resize(std::min(name.find('\0'), name.size()));
  name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

void detect_family(uint32_t signature, CpuInfo& cpu) {
  const int family = static_cast<int>((signature >> 8) & 0xf);
  const int model = static_cast<int>((signature >> 4) & 0xf);
  cpu.family = family == 0xf ? family + static_cast<int>((signature >> 20) & 0xff) : family;
  cpu.model = family == 0xf || family == 6
                  ? model + static_cast<int>(((signature >> 16) & 0xf) << 4)
                  : model;
}

bool is_available(Isa isa, const CpuInfo& cpu) {
  switch (isa) {
    case Isa::neon:
      return cpu.neon;
    case Isa::neon_dotprod:
      return cpu.neon_dotprod;
    case Isa::neon_i8mm:
      return cpu.neon_i8mm && cpu.neon_dotprod;
    case Isa::neon_bf16:
      return cpu.neon_bf16 && is_available(Isa::neon_i8mm, cpu);
    case Isa::avx2:
      return cpu.avx2;
    case Isa::avx512:
      return cpu.avx512;
    case Isa::avx512_vnni:
      return cpu.avx512_vnni;
    case Isa::avx512_bf16:
      return cpu.avx512_bf16 && cpu.avx512_vnni;
    case Isa::amx:
      return cpu.amx_bf16 && is_available(Isa::avx512_bf16, cpu);
    case Isa::none:
      return false;
  }
  return false;
}

constexpr Isa kIsas[] = {Isa::neon,        Isa::neon_dotprod, Isa::neon_i8mm,
                         Isa::neon_bf16,   Isa::avx2,         Isa::avx512,
                         Isa::avx512_vnni, Isa::avx512_bf16,  Isa::amx};

constexpr int kNotForced = -1;
std::atomic<int> forced_isa{kNotForced};

std::string names(const std::vector<Isa>& isas) {
  std::string list;
  for (Isa isa : isas) list.append(list.empty() ? "" : ", ").append(isa_name(isa));
  return list;
}

std::vector<KernelChoice> neon_choices(Isa isa, const std::string& best) {
  std::vector<KernelChoice> choices = {{"fp32", "neon", best}};
  choices.push_back(isa == Isa::neon_bf16
                        ? KernelChoice{"bf16", "neon_bf16", best}
                        : KernelChoice{"bf16", "neon, widened to fp32", "no native bf16 products"});
  choices.push_back(
      isa == Isa::neon
          ? KernelChoice{"int8", "neon, widened to 16 bits", "no dot products of bytes"}
          : KernelChoice{"int8", std::string(isa_name(std::min(isa, Isa::neon_i8mm))), best});
  return choices;
}

KernelChoice int8_choice(Isa isa, const CpuInfo& cpu, const std::string& best) {
  if (isa == Isa::amx && cpu.amx_int8) return {"int8", "amx", best};
  if (isa >= Isa::avx512_vnni) return {"int8", "avx512_vnni", best};
  return {"int8", std::string(isa_name(isa)) + ", widened to 16 bits",
          "no dot products of bytes; those of AVX2 saturate"};
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      return "neon_dotprod";
    case Isa::neon_i8mm:
      return "neon_i8mm";
    case Isa::neon_bf16:
      return "neon_bf16";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::amx:
      return "amx";
    case Isa::none:
      return "none";
  }
  return "?";
}

CpuInfo detect_cpu(const CpuProbe& probe) {
  CpuInfo cpu;
  const CpuidRegisters leaf0 = probe.cpuid(0, 0);
  cpu.vendor = text_of({leaf0.ebx, leaf0.edx, leaf0.ecx});
  cpu.vendor.resize(std::min(cpu.vendor.find('\0'), cpu.vendor.size()));
  if (leaf0.eax < 7) return cpu;
  cpu.name = brand(probe);
  const CpuidRegisters leaf1 = probe.cpuid(1, 0);
  detect_family(leaf1.eax, cpu);
  if (!bit(leaf1.ecx, 27)) return cpu;  // the system has not switched XSAVE on

  const uint64_t xcr0 = probe.xcr0();
  const CpuidRegisters leaf7 = probe.cpuid(7, 0);
  const CpuidRegisters leaf7_1 = leaf7.eax >= 1 ? probe.cpuid(7, 1) : CpuidRegisters{};
  // Highway's AVX2 code is compiled with PCLMUL, FMA, AES, AVX and F16C of leaf 1, and BMI1, AVX2
  // and BMI2 of leaf 7.
  constexpr uint32_t kAvx2Leaf1 = (1u << 1) | (1u << 12) | (1u << 25) | (1u << 28) | (1u << 29);
  constexpr uint32_t kAvx2Leaf7 = (1u << 3) | (1u << 5) | (1u << 8);
  cpu.avx2 = all_bits(xcr0, kXcr0Avx) && all_bits(leaf1.ecx, kAvx2Leaf1) &&
             all_bits(leaf7.ebx, kAvx2Leaf7);
  // The parts of AVX-512 are F, DQ, CD, BW and VL.
  constexpr uint32_t kAvx512 = (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31);
  cpu.avx512 = cpu.avx2 && all_bits(xcr0, kXcr0Avx512) && all_bits(leaf7.ebx, kAvx512);
  cpu.avx512_vnni = cpu.avx512 && bit(leaf7.ecx, 11);
  cpu.avx512_bf16 = cpu.avx512 && bit(leaf7_1.eax, 5);
  const bool amx_tile = cpu.avx512 && bit(leaf7.edx, 24) && all_bits(xcr0, kXcr0Amx);
  const bool wants_amx = amx_tile && (bit(leaf7.edx, 22) || bit(leaf7.edx, 25));
  if (wants_amx && probe.permit_amx()) {
    cpu.amx_bf16 = bit(leaf7.edx, 22);
    cpu.amx_int8 = bit(leaf7.edx, 25);
    cpu.amx_palette_leaf_empty = leaf0.eax < 0x1d || probe.cpuid(0x1d, 0).eax == 0;
  }
  return cpu;
}

const CpuInfo& cpu_info() {
  static const CpuInfo info = this_machine();
  return info;
}

std::vector<Isa> available_isas(const CpuInfo& cpu) {
  std::vector<Isa> isas;
  std::copy_if(std::begin(kIsas), std::end(kIsas), std::back_inserter(isas),
               [&](Isa isa) { return is_available(isa, cpu); });
  return isas;
}

Isa choose_isa(const char* requested, const CpuInfo& cpu) {
  if (requested == nullptr || *requested == '\0') {
    if (is_available(Isa::amx, cpu)) return Isa::amx;
    if (is_available(Isa::avx512_bf16, cpu) && cpu.vendor == "AuthenticAMD") {
      return Isa::avx512_bf16;
    }
    if (cpu.avx512_vnni) return Isa::avx512_vnni;
    if (cpu.avx512) return Isa::avx512;
    if (cpu.avx2) return Isa::avx2;
    if (cpu.neon) return available_isas(cpu).back();
    fail(ErrorKind::unsupported, "this processor ({}) has no AVX2 with FMA", cpu.name);
  }
  const auto isa = std::find_if(std::begin(kIsas), std::end(kIsas),
                                [&](Isa each) { return isa_name(each) == requested; });
  if (isa == std::end(kIsas)) {
    fail(ErrorKind::usage, "HONE_ISA: expected one of {}, got {}",
         names({std::begin(kIsas), std::end(kIsas)}), quote(requested));
  }
  if (!is_available(*isa, cpu)) {
    fail(ErrorKind::usage, "HONE_ISA: {} is not available on this processor ({}), which has {}",
         quote(requested), cpu.name, names(available_isas(cpu)));
  }
  return *isa;
}

ScopedIsa::ScopedIsa(Isa isa) : before_(forced_isa.exchange(static_cast<int>(isa))) {}
ScopedIsa::~ScopedIsa() { forced_isa.store(before_); }

Isa chosen_isa() {
  const int forced = forced_isa.load(std::memory_order_relaxed);
  if (forced != kNotForced) return static_cast<Isa>(forced);
  static const Isa isa = choose_isa(std::getenv("HONE_ISA"));
  return isa;
}

std::vector<KernelChoice> kernel_choices(Isa isa, const CpuInfo& cpu) {
  const std::string best = isa == choose_isa(nullptr, cpu) ? "fastest here" : "forced by HONE_ISA";
  if (isa < Isa::avx2) return neon_choices(isa, best);
  const Isa fp32 = std::min(isa, Isa::avx512);
  std::vector<KernelChoice> choices;
  choices.push_back({"fp32", std::string(isa_name(fp32)), best});
  if (isa == Isa::amx) {
    choices.push_back({"bf16", "amx",
                       cpu.amx_palette_leaf_empty
                           ? best + "; CPUID leaf 0x1D is empty, palette 1 by hand"
                           : best});
  } else if (isa == Isa::avx512_bf16) {
    choices.push_back({"bf16", "avx512_bf16", best});
  } else {
    choices.push_back({"bf16", std::string(isa_name(isa)) + ", widened to fp32",
                       cpu.avx512_bf16 && isa >= Isa::avx512
                           ? "native bf16 products are slower than fp32 on this family"
                           : "no native bf16 products"});
  }
  choices.push_back(int8_choice(isa, cpu, best));
  return choices;
}

}  // namespace hone
