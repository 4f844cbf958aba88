#include "runtime/cpu/kernel_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/cpu/elf_object.h"

// The interface of gdb's manual, as kernel_symbols.cc has it.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
extern jit_descriptor __jit_debug_descriptor;
}

namespace aitune {
namespace {

using ::testing::HasSubstr;

std::string Read(const std::string& name) {
  std::ifstream file("runtime/cpu/testdata/" + name + ".o", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(LoadKernels, LinksCodeConstantsAndLibm) {
  auto kernels = LoadKernels({Read("scale")});
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  const KernelFunction scale = (*kernels)->Find("scale");
  ASSERT_NE(scale, nullptr);
  float x[5] = {0, 0.25f, -1, 2, 0.5f}, y[5] = {};
  void* buffers[] = {x, y};
  const int64_t symbols[] = {10};
  scale(buffers, symbols, 1, 5);
  EXPECT_EQ(y[0], 0);  // not in the range
  const float table[] = {1.5f, 2.5f, 3.5f, 4.5f};
  for (int i = 1; i < 5; ++i)
    EXPECT_FLOAT_EQ(y[i], std::erf(x[i]) * table[i % 4] + 2.5f + 10);
}

// The address of the function `name` by the file that a debugger is given; null
// if that does not have it.
const void* AddressFor(const jit_code_entry& entry, std::string_view name) {
  auto object =
      ElfObject::Read(std::string_view(entry.symfile_addr, entry.symfile_size));
  EXPECT_TRUE(object.ok()) << object.status();
  for (const ElfSymbol& symbol : object->symbols) {
    if (symbol.name == name)
      return reinterpret_cast<const void*>(
          object->sections[symbol.entry.st_shndx].header.sh_addr +
          symbol.entry.st_value);
  }
  return nullptr;
}

TEST(LoadKernels, TellsDebuggersAndProfilersTheirNames) {
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  {
    const auto before = LoadKernels({Read("scale")});
    ASSERT_TRUE(before.ok()) << before.status();
    EXPECT_FALSE(std::ifstream(map).is_open());
    setenv("AITUNE_PERF_MAP", "1", 1);
    const auto kernels = LoadKernels({Read("scale")});
    unsetenv("AITUNE_PERF_MAP");
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    const jit_code_entry* entry = __jit_debug_descriptor.first_entry;
    ASSERT_NE(entry, nullptr);
    const auto* scale =
        reinterpret_cast<const void*>((*kernels)->Find("scale"));
    EXPECT_EQ(AddressFor(*entry, "scale"), scale);
    EXPECT_EQ(__jit_debug_descriptor.relevant_entry, entry);
    ASSERT_NE(entry->next_entry, nullptr);
    EXPECT_EQ(AddressFor(*entry->next_entry, "scale"),
              reinterpret_cast<const void*>((*before)->Find("scale")));
    std::ifstream file(map);
    std::string address, size, name;
    ASSERT_TRUE(file >> address >> size >> name);
    EXPECT_EQ(std::stoull(address, nullptr, 16),
              reinterpret_cast<uintptr_t>(scale));
    EXPECT_GT(std::stoull(size, nullptr, 16), 0u);
    EXPECT_EQ(name, "scale");
  }
  EXPECT_EQ(__jit_debug_descriptor.first_entry, nullptr);
  unlink(map.c_str());
}

TEST(LoadKernels, FindsOnlyFunctions) {
  auto kernels = LoadKernels({Read("scale")});
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_EQ((*kernels)->Find("scale_table"), nullptr);
  EXPECT_EQ((*kernels)->Find("kTable"), nullptr);
  EXPECT_EQ((*kernels)->Find("erff"), nullptr);
  EXPECT_EQ((*kernels)->Find(""), nullptr);
}

TEST(LoadKernels, TakesNoObjectsAtAll) {
  auto kernels = LoadKernels({});
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_EQ((*kernels)->Find("scale"), nullptr);
}

TEST(LoadKernels, NamesWhatIsMissing) {
  auto kernels = LoadKernels({Read("scale"), Read("missing")});
  EXPECT_EQ(kernels.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(kernels.status()), HasSubstr("no_such_function"));
}

// An object from elsewhere may call nothing that reaches beyond the process,
// though libc, which libm brings along, has it.
TEST(LoadKernels, RefusesFunctionsThatAreNoArithmetic) {
  auto kernels = LoadKernels({Read("shell")});
  EXPECT_EQ(kernels.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(kernels.status()),
              HasSubstr("needs system, which is none of the functions that "
                        "kernels may call"));
}

TEST(LoadKernels, RefusesCodeThatCanBeWritten) {
  auto kernels = LoadKernels({Read("writable_code")});
  EXPECT_EQ(kernels.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(kernels.status()),
              HasSubstr("a section .both that can be written and run"));
}

TEST(LoadKernels, RefusesTwoDefinitions) {
  auto kernels = LoadKernels({Read("scale"), Read("scale")});
  EXPECT_EQ(kernels.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(kernels.status()), HasSubstr("twice"));
}

TEST(LoadKernels, RefusesOtherFiles) {
  EXPECT_THAT(Message(LoadKernels({""}).status()),
              HasSubstr("not an object file"));
  EXPECT_THAT(Message(LoadKernels({std::string(4096, 'x')}).status()),
              HasSubstr("no ELF file"));
  std::string other = Read("scale");
  other[18] = 0x28;  // e_machine: ARM
  EXPECT_THAT(Message(LoadKernels({other}).status()), HasSubstr("x86-64"));
}

TEST(LoadKernels, SurvivesTruncationAtEveryByte) {
  const std::string object = Read("scale");
  ASSERT_GT(object.size(), 0u);
  for (size_t bytes = 0; bytes < object.size(); ++bytes)
    EXPECT_FALSE(LoadKernels({object.substr(0, bytes)}).ok()) << bytes;
}

TEST(LoadKernels, SurvivesDamage) {
  const std::string object = Read("scale");
  ASSERT_GT(object.size(), 0u);
  // Any byte, then several: a status, never a crash. (Damaged code may load;
  // that is what checksums are for.)
  for (size_t i = 0; i < object.size(); ++i) {
    for (const char value : {'\x00', '\xff', '\x80'}) {
      std::string damaged = object;
      damaged[i] = value;
      (void)LoadKernels({damaged});
    }
  }
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = object;
    for (int change = 0; change < 4; ++change)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)LoadKernels({damaged});
  }
}

}  // namespace
}  // namespace aitune
