#pragma once

#include <cstdint>

#include "device/cpu_info.h"

namespace hone {

enum class DeviceKind : uint8_t { cpu, cuda };

/// Says what a model's plans are recorded for, and what its weights are laid out for.
struct Target {
  DeviceKind device = DeviceKind::cpu;
  Isa isa = Isa::none;  ///< the processor's instruction set; none on other devices, where nothing
                        ///< is packed

  Target() = default;
  /// Targets the processor with one of its instruction sets.
  Target(Isa of_processor) : isa(of_processor) {}

  static Target cuda() {
    Target target;
    target.device = DeviceKind::cuda;
    return target;
  }
  /// Gives the GPU in use, or the processor with the instruction set that was chosen for it.
  static Target of(bool gpu) { return gpu ? cuda() : Target(chosen_isa()); }
  bool operator==(const Target&) const = default;
};

}  // namespace hone
