#include "compiler/codegen/cpu/KernelLoader.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "llvm/ExecutionEngine/JITLink/EHFrameSupport.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"

namespace aitune {
namespace {

class OrcKernelLibrary : public KernelLibrary {
public:
  OrcKernelLibrary(std::unique_ptr<llvm::orc::LLJIT> jit,
                   llvm::StringMap<KernelFunction> entries)
      : jit(std::move(jit)), entries(std::move(entries)) {}

  KernelFunction Find(absl::string_view symbol) const override {
    return entries.lookup(llvm::StringRef(symbol.data(), symbol.size()));
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::StringMap<KernelFunction> entries;
};

absl::Status invalid(llvm::Error error, const char *what) {
  return absl::InvalidArgumentError(std::string(what) + ": " +
                                    llvm::toString(std::move(error)));
}

/// The names of the functions an object defines.
llvm::Expected<std::vector<std::string>>
readSymbols(llvm::MemoryBufferRef buffer) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!object)
    return object.takeError();
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    auto type = symbol.getType();
    if (!type)
      return type.takeError();
    if (*type != llvm::object::SymbolRef::ST_Function ||
        !(*flags & llvm::object::SymbolRef::SF_Global) ||
        (*flags & llvm::object::SymbolRef::SF_Undefined))
      continue;
    auto name = symbol.getName();
    if (!name)
      return name.takeError();
    names.push_back(name->str());
  }
  return names;
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> createJit() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
#if defined(__linux__) && defined(__x86_64__)
    // Linux lends AMX's tile registers only to processes that ask for them
    // (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). Where there is no AMX the
    // request fails, and no kernel uses it.
    syscall(SYS_arch_prctl, 0x1023, 18);
#endif
  });
  // JITLink: object code calls libm through stubs it makes, wherever libm is.
  llvm::orc::LLJITBuilder builder;
  builder.setObjectLinkingLayerCreator(
      [](llvm::orc::ExecutionSession &session) {
        return std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
      });
  auto jit = builder.create();
  if (!jit)
    return jit.takeError();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  return jit;
}

} // namespace

absl::StatusOr<std::shared_ptr<const KernelLibrary>>
loadKernels(const std::vector<std::string> &objects) {
  auto jit = createJit();
  if (!jit)
    return absl::InternalError("cannot start the object linker: " +
                               llvm::toString(jit.takeError()));
  // The session reports details of failed links on its own; they belong into
  // the status.
  std::string details;
  (*jit)->getExecutionSession().setErrorReporter([&details](llvm::Error error) {
    details += (details.empty() ? "" : "; ") + llvm::toString(std::move(error));
  });

  std::vector<std::string> names;
  for (const std::string &bytes : objects) {
    // A copy that is aligned and lives as long as the linker wants it.
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, "kernels.o");
    auto symbols = readSymbols(buffer->getMemBufferRef());
    if (!symbols)
      return invalid(symbols.takeError(), "not an object file of kernels");
    names.insert(names.end(), symbols->begin(), symbols->end());
    if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer)))
      return invalid(std::move(error),
                     "the object code of the kernels cannot be added");
  }

  llvm::StringMap<KernelFunction> entries;
  for (const std::string &name : names) {
    auto address = (*jit)->lookup(name);
    if (!address) {
      std::string text = llvm::toString(address.takeError());
      (*jit)->getExecutionSession().setErrorReporter(
          [](llvm::Error error) { llvm::consumeError(std::move(error)); });
      return absl::InternalError("kernel " + name +
                                 " cannot be linked: " + text +
                                 (details.empty() ? "" : " (" + details + ")"));
    }
    entries[name] = address->toPtr<KernelFunction>();
  }
  (*jit)->getExecutionSession().setErrorReporter(
      [](llvm::Error error) { llvm::consumeError(std::move(error)); });
  return std::shared_ptr<const KernelLibrary>(
      std::make_shared<OrcKernelLibrary>(std::move(*jit), std::move(entries)));
}

} // namespace aitune
