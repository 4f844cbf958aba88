// The schedules of a kernel's template, of whatever template and device.
#ifndef AITUNE_COMPILER_SUPPORT_SCHEDULE_H
#define AITUNE_COMPILER_SUPPORT_SCHEDULE_H

#include <string>
#include <vector>

namespace aitune {

/// One legal choice of a template's parameters.
struct Schedule {
  /// The text of the kernel's ait.config, which the generator reads.
  std::string config;
  /// A text for people, such as "8x48 kc0 mc128 panels1 panels-outer" or "mma
  /// 64x32, 6 stages".
  std::string description;
  /// Numbers that describe the schedule for a cost model, in the same order for
  /// all schedules of a form (KernelSpace::form).
  std::vector<double> features;
  /// The number of operations that are executed, divided by countFlops of the
  /// kernel: less than one for an algorithm that needs fewer, such as
  /// Winograd's. The roofline multiplies the kernel's operations by it.
  double operations = 1;
};

/// The schedules that the template of one kernel can generate.
struct KernelSpace {
  /// The template, and the form of its code if it has several: "matmul",
  /// "convolution taps", "loop", "cuda matmul", ... Features of different forms
  /// cannot be compared.
  std::string form;
  /// The legal schedules that are worth measuring. The first is the one that is
  /// used without measuring. Never empty.
  std::vector<Schedule> schedules;
  /// What was wrong with schedules of plug-ins, which are not among them.
  std::vector<std::string> refused;
};

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_SCHEDULE_H
