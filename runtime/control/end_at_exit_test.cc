#include "runtime/control/end_at_exit.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace aitune {
namespace {

// The exit code of a child of fork that runs `body`, which may call exit. 128
// and the signal's number if it died by one.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // seconds: hangs end by a signal
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What a library would destroy at exit, and a thread that uses it.
struct Library {
  ~Library() {
    is_there = false;
    usleep(20000);  // the time in which the thread sees it
  }
  std::atomic<bool> is_there = true;
};
struct User {
  explicit User(Library& library)
      : thread([this, &library] {
          while (!is_stopping)
            if (!library.is_there) _exit(1);
        }),
        at_exit([this] { Stop(); }) {}
  ~User() { Stop(); }
  void Stop() {
    is_stopping = true;
    if (thread.joinable() && thread.get_id() != std::this_thread::get_id())
      thread.join();
  }
  std::atomic<bool> is_stopping = false;
  std::thread thread;
  EndAtExit at_exit;
};

TEST(EndAtExit, ThreadsEndBeforeStaticObjectsDo) {
  EXPECT_EQ(InChild([] {
              static Library library;
              new User(library);
              new User(library);
              exit(7);
            }),
            7);
}

// As what the thread itself makes at its first use of a library.
TEST(EndAtExit, ThreadsEndBeforeObjectsThatAreMadeLater) {
  EXPECT_EQ(InChild([] {
              static std::atomic<Library*> made = nullptr;
              struct LateUser {
                LateUser()
                    : thread([this] {
                        while (!is_stopping)
                          if (made && !made.load()->is_there) _exit(1);
                      }),
                      at_exit([this] {
                        is_stopping = true;
                        thread.join();
                      }) {}
                std::atomic<bool> is_stopping = false;
                std::thread thread;
                EndAtExit at_exit;
              };
              new LateUser;
              static Library later;
              made = &later;
              exit(7);
            }),
            7);
}

TEST(EndAtExit, ThoseThatHaveEndedAreNotCalled) {
  EXPECT_EQ(InChild([] {
              {
                const EndAtExit ended([] { _exit(1); });
              }
              exit(7);
            }),
            7);
}

TEST(EndAtExit, TheThreadItselfMayExit) {
  EXPECT_EQ(InChild([] {
              static std::unique_ptr<User> user;
              static Library library;
              user = std::make_unique<User>(library);
              std::thread([] { exit(7); }).join();
            }),
            7);
}

TEST(EndAtExit, SaysThatExitHasBegun) {
  EXPECT_FALSE(EndAtExit::HasBegun());
  EXPECT_EQ(
      InChild([] {
        const EndAtExit entry([] { _exit(EndAtExit::HasBegun() ? 7 : 8); });
        exit(9);
      }),
      7);
}

// Last: the handler is then registered before what children make.
TEST(EndAtExit, AParentsThreadsAreNotWaitedForInAChild) {
  const auto of_parent = std::make_unique<EndAtExit>([process = getpid()] {
    if (process != getpid()) _exit(1);
  });
  EXPECT_EQ(InChild([] { exit(7); }), 7);
}

}  // namespace
}  // namespace aitune
