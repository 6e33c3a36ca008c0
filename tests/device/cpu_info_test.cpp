#include "device/cpu_info.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"

namespace hone {
namespace {

uint32_t word(const char* text) {
  uint32_t value = 0;
  std::memcpy(&value, text, 4);
  return value;
}

/// A processor made up from CPUID leaves; leaves that are not set read as zero.
struct FakeCpu {
  std::map<std::pair<uint32_t, uint32_t>, CpuidRegisters> leaves;
  uint64_t xcr0 = 0xe7;
  bool grants_amx = true;
  int asked_for_amx = 0;

  CpuInfo detect() {
    return detect_cpu({[this](uint32_t leaf, uint32_t subleaf) {
                         const auto found = leaves.find({leaf, subleaf});
                         return found == leaves.end() ? CpuidRegisters{} : found->second;
                       },
                       [this] { return xcr0; },
                       [this] {
                         ++asked_for_amx;
                         return grants_amx;
                       }});
  }
};

constexpr uint32_t kOsXsave = 1u << 27;
constexpr uint32_t kAvx2Leaf1 = (1u << 1) | (1u << 12) | (1u << 25) | (1u << 28) | (1u << 29);
constexpr uint32_t kAvx2Leaf7 = (1u << 3) | (1u << 5) | (1u << 8);
constexpr uint32_t kAvx512Leaf7 = (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31);

FakeCpu zen4() {
  FakeCpu cpu;
  cpu.leaves[{0, 0}] = {16, word("Auth"), word("cAMD"), word("enti")};
  cpu.leaves[{1, 0}] = {0x00a10f11, 0, kOsXsave | kAvx2Leaf1, 0};
  cpu.leaves[{7, 0}] = {1, kAvx2Leaf7 | kAvx512Leaf7, 1u << 11, 0};
  cpu.leaves[{7, 1}] = {1u << 5, 0, 0, 0};
  cpu.leaves[{0x80000000u, 0}] = {0x80000004u, 0, 0, 0};
  cpu.leaves[{0x80000002u, 0}] = {word("AMD "), word("EPYC"), word(" 9R1"), word("4   ")};
  return cpu;
}

FakeCpu sapphire_rapids() {
  FakeCpu cpu = zen4();
  cpu.leaves[{0, 0}] = {0x20, word("Genu"), word("ntel"), word("ineI")};
  cpu.leaves[{1, 0}].eax = 0x000806f8;
  cpu.leaves[{7, 0}].edx = (1u << 22) | (1u << 24) | (1u << 25);
  cpu.leaves[{0x1d, 0}] = {1, 0, 0, 0};
  cpu.xcr0 = 0x600e7;
  return cpu;
}

TEST(CpuInfo, Zen4) {
  const CpuInfo cpu = zen4().detect();
  EXPECT_EQ(cpu.vendor, "AuthenticAMD");
  EXPECT_EQ(cpu.name, "AMD EPYC 9R14");
  EXPECT_EQ(cpu.family, 25);
  EXPECT_EQ(cpu.model, 17);
  EXPECT_TRUE(cpu.avx2 && cpu.avx512 && cpu.avx512_vnni && cpu.avx512_bf16);
  EXPECT_FALSE(cpu.amx_bf16 || cpu.amx_int8 || cpu.amx_palette_leaf_empty);
  EXPECT_EQ(choose_isa(nullptr, cpu), Isa::avx512_bf16);
}

TEST(CpuInfo, SapphireRapids) {
  const CpuInfo cpu = sapphire_rapids().detect();
  EXPECT_EQ(cpu.vendor, "GenuineIntel");
  EXPECT_EQ(cpu.family, 6);
  EXPECT_EQ(cpu.model, 0x8f);
  EXPECT_TRUE(cpu.amx_bf16 && cpu.amx_int8);
  EXPECT_FALSE(cpu.amx_palette_leaf_empty);
  EXPECT_EQ(choose_isa("", cpu), Isa::amx);
}

TEST(CpuInfo, AmxWorksThoughItsPaletteLeafIsEmpty) {
  FakeCpu fake = sapphire_rapids();
  fake.leaves.erase({0x1d, 0});
  CpuInfo cpu = fake.detect();
  EXPECT_TRUE(cpu.amx_bf16 && cpu.amx_palette_leaf_empty);
  EXPECT_EQ(choose_isa(nullptr, cpu), Isa::amx);
  EXPECT_NE(kernel_choices(Isa::amx, cpu)[1].reason.find("0x1D"), std::string::npos);

  fake.leaves[{0, 0}].eax = 0x10;  // the guest's limit stops short of the leaf
  fake.leaves[{0x1d, 0}] = {1, 0, 0, 0};
  cpu = fake.detect();
  EXPECT_TRUE(cpu.amx_bf16 && cpu.amx_palette_leaf_empty);
}

TEST(CpuInfo, AmxNeedsTheSystem) {
  FakeCpu refused = sapphire_rapids();
  refused.grants_amx = false;
  EXPECT_FALSE(refused.detect().amx_bf16);
  EXPECT_EQ(refused.asked_for_amx, 1);

  for (int state : {17, 18}) {
    FakeCpu unsaved = sapphire_rapids();
    unsaved.xcr0 &= ~(uint64_t{1} << state);
    EXPECT_FALSE(unsaved.detect().amx_bf16) << "XCR0 bit " << state;
    EXPECT_EQ(unsaved.asked_for_amx, 0);
  }
  FakeCpu without = zen4();
  without.detect();
  EXPECT_EQ(without.asked_for_amx, 0);
}

TEST(CpuInfo, IntelWithoutAmxWidensBf16) {
  FakeCpu fake = sapphire_rapids();
  fake.grants_amx = false;
  const CpuInfo cpu = fake.detect();
  EXPECT_EQ(choose_isa(nullptr, cpu), Isa::avx512_vnni);
  EXPECT_EQ(choose_isa("avx512_bf16", cpu), Isa::avx512_bf16);
  const std::vector<KernelChoice> choices = kernel_choices(Isa::avx512_vnni, cpu);
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].dtype, "fp32");
  EXPECT_EQ(choices[0].kernel, "avx512");
  EXPECT_EQ(choices[1].dtype, "bf16");
  EXPECT_NE(choices[1].kernel.find("widened"), std::string::npos);
  EXPECT_NE(choices[1].reason.find("slower"), std::string::npos);
  EXPECT_EQ(choices[2].dtype, "int8");
  EXPECT_EQ(choices[2].kernel, "avx512_vnni");
}

TEST(CpuInfo, Int8KernelOfEachInstructionSet) {
  const CpuInfo cpu = sapphire_rapids().detect();
  EXPECT_EQ(kernel_choices(Isa::amx, cpu)[2].kernel, "amx");
  EXPECT_EQ(kernel_choices(Isa::avx512_bf16, cpu)[2].kernel, "avx512_vnni");
  for (Isa isa : {Isa::avx2, Isa::avx512}) {
    EXPECT_EQ(kernel_choices(isa, cpu)[2].kernel,
              std::string(isa_name(isa)) + ", widened to 16 bits");
  }
  FakeCpu without = zen4();
  without.leaves[{7, 0}].ecx = 0;
  EXPECT_EQ(choose_isa(nullptr, without.detect()), Isa::avx512);
}

TEST(CpuInfo, AvxNeedsTheSystem) {
  FakeCpu fake = zen4();
  fake.xcr0 = 0x7;  // AVX, but not the state of AVX-512
  CpuInfo cpu = fake.detect();
  EXPECT_TRUE(cpu.avx2);
  EXPECT_FALSE(cpu.avx512 || cpu.avx512_bf16 || cpu.avx512_vnni);
  EXPECT_EQ(choose_isa(nullptr, cpu), Isa::avx2);
  EXPECT_EQ(available_isas(cpu), std::vector{Isa::avx2});

  fake.xcr0 = 0x3;
  EXPECT_FALSE(fake.detect().avx2);
  fake.xcr0 = 0xe7;
  fake.leaves[{1, 0}].ecx &= ~kOsXsave;
  EXPECT_FALSE(fake.detect().avx2);
}

TEST(CpuInfo, EachPartOfAnInstructionSetIsNeeded) {
  for (uint32_t part : {16u, 17u, 28u, 30u, 31u}) {
    FakeCpu fake = zen4();
    fake.leaves[{7, 0}].ebx &= ~(1u << part);
    EXPECT_FALSE(fake.detect().avx512) << "leaf 7 EBX bit " << part;
    EXPECT_TRUE(fake.detect().avx2);
  }
  for (uint32_t part : {12u, 29u}) {
    FakeCpu fake = zen4();
    fake.leaves[{1, 0}].ecx &= ~(1u << part);
    EXPECT_FALSE(fake.detect().avx2) << "leaf 1 ECX bit " << part;
  }
}

TEST(CpuInfo, RequestsThatCannotBeMet) {
  const CpuInfo cpu = zen4().detect();
  for (const char* requested : {"amx", "avx1024", "AVX2", "avx2 "}) {
    try {
      choose_isa(requested, cpu);
      FAIL() << requested;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(requested), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("avx512_bf16"), std::string::npos) << error.what();
    }
  }
}

TEST(CpuInfo, ProcessorWithoutAvx2IsRefused) {
  FakeCpu fake = zen4();
  fake.leaves[{7, 0}] = {};
  EXPECT_TRUE(available_isas(fake.detect()).empty());
  try {
    choose_isa(nullptr, fake.detect());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

constexpr uint64_t kAsimd = 1 << 1, kDotprod = 1 << 20;
constexpr uint64_t kI8mm = 1 << 13, kBf16 = 1 << 14;

TEST(CpuInfo, ArmCores) {
  const CpuInfo a72 = detect_arm(kAsimd, 0, 0x410fd083);
  EXPECT_EQ(a72.name, "Cortex-A72");
  EXPECT_EQ(available_isas(a72), std::vector{Isa::neon});
  EXPECT_EQ(choose_isa(nullptr, a72), Isa::neon);
  const CpuInfo n1 = detect_arm(kAsimd | kDotprod, 0, 0x413fd0c1);
  EXPECT_EQ(n1.name, "Neoverse-N1");
  EXPECT_EQ(choose_isa(nullptr, n1), Isa::neon_dotprod);
  const CpuInfo v1 = detect_arm(kAsimd | kDotprod, kI8mm | kBf16, 0x411fd401);
  EXPECT_EQ(v1.name, "Neoverse-V1");
  EXPECT_EQ(choose_isa(nullptr, v1), Isa::neon_bf16);
  EXPECT_EQ(choose_isa("neon_dotprod", v1), Isa::neon_dotprod);
  EXPECT_EQ(detect_arm(kAsimd, 0, 0x610f0220).name, "64-bit ARM, implementer 0x61, part 0x22");
  EXPECT_EQ(detect_arm(kAsimd, 0, 0).name, "64-bit ARM");
  EXPECT_TRUE(available_isas(detect_arm(0, ~uint64_t{0}, 0)).empty()) << "nothing without NEON";
}

TEST(CpuInfo, ArmInstructionSetsIncludeThoseBefore) {
  EXPECT_EQ(choose_isa(nullptr, detect_arm(kAsimd, kI8mm | kBf16, 0)), Isa::neon);
  EXPECT_EQ(choose_isa(nullptr, detect_arm(kAsimd | kDotprod, kBf16, 0)), Isa::neon_dotprod);
  EXPECT_EQ(choose_isa(nullptr, detect_arm(kAsimd | kDotprod, kI8mm, 0)), Isa::neon_i8mm);
}

TEST(CpuInfo, ArmKernels) {
  const CpuInfo cpu = detect_arm(kAsimd | kDotprod, kI8mm | kBf16, 0);
  const auto kernels = [&](Isa isa) {
    std::string all;
    for (const KernelChoice& choice : kernel_choices(isa, cpu)) all += choice.kernel + "; ";
    return all;
  };
  EXPECT_EQ(kernels(Isa::neon), "neon; neon, widened to fp32; neon, widened to 16 bits; ");
  EXPECT_EQ(kernels(Isa::neon_dotprod), "neon; neon, widened to fp32; neon_dotprod; ");
  EXPECT_EQ(kernels(Isa::neon_i8mm), "neon; neon, widened to fp32; neon_i8mm; ");
  EXPECT_EQ(kernels(Isa::neon_bf16), "neon; neon_bf16; neon_i8mm; ");
  EXPECT_EQ(kernel_choices(Isa::neon_bf16, cpu)[0].reason, "fastest here");
  EXPECT_EQ(kernel_choices(Isa::neon, cpu)[0].reason, "forced by HONE_ISA");
  EXPECT_THROW(choose_isa("avx2", cpu), Error);
}

TEST(CpuInfo, ThisMachine) {
  const std::vector<Isa> isas = available_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_NE(std::find(isas.begin(), isas.end(), chosen_isa()), isas.end());
  const Isa before = chosen_isa();
  {
    const ScopedIsa outer(isas.front());
    EXPECT_EQ(chosen_isa(), isas.front());
    const ScopedIsa inner(isas.back());
    EXPECT_EQ(chosen_isa(), isas.back());
  }
  EXPECT_EQ(chosen_isa(), before);
}

class UsableCores : public testing::Test {
 protected:
  std::string root = testing::TempDir() + "/cores";
  int all = 0;

  void SetUp() override {
    std::filesystem::remove_all(root);
    all = usable_cores(root);  // no group limits it: the affinity does
    ASSERT_GE(all, 1);
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
};

TEST_F(UsableCores, ThreadsOfACoreCountOnce) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  EXPECT_EQ(all, std::ssize(cpus)) << "nothing is known of cores";
  const auto describe = [&](size_t i, const std::string& name, const std::string& threads) {
    write("/sys/devices/system/cpu/cpu" + std::to_string(cpus[i]) + "/topology/" + name, threads);
  };
  for (size_t i = 0; i < cpus.size(); ++i) describe(i, "thread_siblings_list", "0-7\n");
  EXPECT_EQ(usable_cores(root), 1);
  // The newer name goes first.
  describe(0, "core_cpus_list", "0,8\n");
  EXPECT_EQ(usable_cores(root), std::min<int>(2, static_cast<int>(cpus.size())));
  for (size_t i = 0; i < cpus.size(); ++i) describe(i, "core_cpus_list", std::to_string(i) + "\n");
  EXPECT_EQ(usable_cores(root), all);
}

TEST_F(UsableCores, QuotaOfVersion2) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(usable_cores(root), all);
  write("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(usable_cores(root), 1);
  write("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cores(root), 1);
  write("/sys/fs/cgroup/a/b/cpu.max", "1000000000 100000\n");
  EXPECT_EQ(usable_cores(root), all);
}

TEST_F(UsableCores, QuotaOfAnAncestor) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/cpu.max", "110000 100000\n");
  EXPECT_EQ(usable_cores(root), 1);
}

TEST_F(UsableCores, QuotaOfVersion1) {
  write("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(usable_cores(root), all);
  // The group's own folder is the host's and not to be seen; the mount's root is the container.
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000");
  EXPECT_EQ(usable_cores(root), 1);
}

TEST_F(UsableCores, RubbishIsNoLimit) {
  write("/proc/self/cgroup", "::\nrubbish\n0::\n0::/a\n");
  write("/sys/fs/cgroup/a/cpu.max", "many cores\n");
  write("/sys/fs/cgroup/cpu.max", "1 0\n");
  EXPECT_EQ(usable_cores(root), all);
}

}  // namespace
}  // namespace hone
