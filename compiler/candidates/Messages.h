// Messages of compiler/measure/worker.proto on a socket: their length, then
// their bytes.
#ifndef AITUNE_COMPILER_CANDIDATES_MESSAGES_H
#define AITUNE_COMPILER_CANDIDATES_MESSAGES_H

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace aitune {

/// Whether all of `size` bytes went to `socket`. Raises no SIGPIPE.
inline bool sendAll(int socket, const char *data, size_t size) {
  while (size > 0) {
    const ssize_t count = send(socket, data, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

/// Whether `size` bytes came from `socket`; false if it was closed before.
inline bool receiveAll(int socket, char *data, size_t size) {
  while (size > 0) {
    const ssize_t count = recv(socket, data, size, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

template <typename Message>
bool sendMessage(int socket, const Message &message) {
  const std::string bytes = message.SerializeAsString();
  const uint64_t size = bytes.size();
  return sendAll(socket, reinterpret_cast<const char *>(&size), sizeof size) &&
         sendAll(socket, bytes.data(), bytes.size());
}

template <typename Message> bool receiveMessage(int socket, Message &message) {
  uint64_t size = 0;
  // Protocol buffers are shorter than this.
  constexpr uint64_t kMost = uint64_t{1} << 31;
  if (!receiveAll(socket, reinterpret_cast<char *>(&size), sizeof size) ||
      size >= kMost)
    return false;
  std::string bytes(size, '\0');
  return receiveAll(socket, bytes.data(), size) &&
         message.ParseFromString(bytes);
}

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_MESSAGES_H
