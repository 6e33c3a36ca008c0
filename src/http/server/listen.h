#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "http/server/socket.h"

namespace hone::http {

/// A socket that listens at an address and port (0: a free one) and does not block. A port that is
/// taken or an address that is none is an Error of one line.
Socket listen_at(const std::string& address, uint16_t port);

/// The port that a socket listens at.
uint16_t port_of(const Socket& listener);

/// Has the system begin no further connections for a listening socket. Those that it has begun are
/// completed, and can be accepted; to close the socket instead would break them.
void refuse_newcomers(int listener);

/// Raises the process's limit of open files as far as it may; where that many connections do not
/// fit beside the program's own files, that is an Error.
void make_room_for(size_t connections);

}  // namespace hone::http
