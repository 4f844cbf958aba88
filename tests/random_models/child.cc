#include "tests/random_models/child.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace aitune::random_models {
namespace {

// A busy machine may give a process a small part of a processor.
constexpr unsigned kWaitFactor = 20;

// SIGPROF ends the process after that much of processors' time, SIGALRM one
// that hangs.
void SetLimit(unsigned limit_s) {
  itimerval timer = {};
  timer.it_value.tv_sec = limit_s;
  setitimer(ITIMER_PROF, &timer, nullptr);
  alarm(kWaitFactor * limit_s);
}

}  // namespace

ChildLines RunInChild(const std::function<void(const TellFunction&)>& work,
                      unsigned limit_s) {
  int pipes[2];
  if (pipe(pipes) != 0) abort();
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    close(pipes[0]);
    SetLimit(limit_s);
    work([&](const std::string& line) {
      const std::string text = line + "\n";
      for (size_t done = 0; done < text.size();) {
        const ssize_t written =
            write(pipes[1], text.data() + done, text.size() - done);
        if (written <= 0) _exit(2);
        done += static_cast<size_t>(written);
      }
      SetLimit(limit_s);
    });
    _exit(0);
  }
  close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(pipes[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ChildLines told;
  told.lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (WIFSIGNALED(status)) {
    told.death = absl::StrCat("signal ", WTERMSIG(status), " (",
                              strsignal(WTERMSIG(status)), ")");
  } else if (WEXITSTATUS(status) != 0) {
    told.death = absl::StrCat("exit code ", WEXITSTATUS(status));
  }
  return told;
}

}  // namespace aitune::random_models
