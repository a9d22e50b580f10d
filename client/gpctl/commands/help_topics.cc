// The texts of `gpctl help TOPIC` for topics that are not commands.
#include <map>

#include "client/gpctl/commands/help.h"

namespace gp::gpctl {
namespace {

const std::map<std::string, std::string>& Topics() {
  static const std::map<std::string, std::string> topics = {
      {"exit-codes", R"(Exit codes of gpctl

    0  ok
    1  failure
    2  wrong usage, or an invalid run file: nothing was changed
    3  not found, or ambiguous
    4  not allowed
    5  conflict: the run's state does not permit it, or a request id was used
       for something else
    6  the coordinator cannot be reached, or time ran out: worth trying again
    7  the run failed (submit --wait, watch, wait, demo)
    8  the run was cancelled (the same commands)
    9  a checkpoint or another file is damaged
  130  interrupted with Ctrl-C; the run keeps going

The other programs of gp use the same table; gp-trainer adds 10 (a file cannot
be read or written) and 11 (the other ranks went away).

With -o json an error is a document on stderr:
  {"kind": "Error", "error": {"code": 3, "message": "..."}}
)"},
      {"references", R"(Naming runs and checkpoints

  RUN         a name (its newest run), an id, a unique prefix of an id, or @last
              for the newest run; --namespace says of which namespace, when
              several have it
  RUN@5000    the checkpoint of step 5000
  RUN@best    the one with the lowest validation loss
  RUN@latest  the newest one; RUN alone means the same where a checkpoint is
              expected
  DIRECTORY   a checkpoint's directory; a path needs a '/' in it

A checkpoint that two readers found damaged is in quarantine: 'gpctl ckpt list'
shows it, and 'gpctl ckpt verify RUN@5000' brings it back when it is whole.
)"},
      {"environment", R"(Where gpctl finds the coordinator, first match wins

  --server ADDRESS       --state-dir DIR (of gpctl up)     --context NAME
  GPCTL_SERVER           GPCTL_STATE_DIR                   GPCTL_CONTEXT
  the current context of $XDG_CONFIG_HOME/gpctl/config.yaml (~/.config), written
  by gpctl up

A token for it: GPCTL_TOKEN_FILE, GPCTL_TOKEN, else the one that 'gpctl login'
kept for the context. The authority of its certificate: GPCTL_CA_FILE, else the
context's. A token is sent over TLS or through a Unix socket, nowhere else.

An ADDRESS is HOST:PORT, or unix:PATH of a socket. gpctl down stops the service
found this way. gpctl up and demo start the one in --state-dir, GPCTL_STATE_DIR
or the default directory, whatever the current context is.

Others: NO_COLOR or GPCTL_NO_COLOR (no escape sequences), LANG and LC_ALL (block
characters need UTF-8), XDG_STATE_HOME (home of the default state directory),
TEXT (the text that gpctl demo trains on).
)"},
      {"states", R"(States of a run

  submitted > queued > starting > running > finishing > succeeded | failed
  on the way: backoff (waiting before the next try),
              queued again (its node was stopped; it resumes from its last step),
              paused (gpctl pause; gpctl resume continues it)
  anywhere:   cancelling > cancelled
  gpctl extend, resume, retry or restart continue an ended run: it is queued again.

'gpctl why RUN' says why it is where it is. gpctl wait takes:
  --for finished (default) | checkpoint | state=NAME | step=N | loss<X | val_loss<X
)"},
      {"run-file", R"(Run files

  gpctl init                     write one to start from; --list shows the
                                 presets, --preset NAME takes one;
                                 --from-nanogpt FILE translates a configuration
                                 of nanoGPT
  gpctl explain run              every key; gpctl explain optimizer.lr: one of
                                 them
  gpctl validate FILE --set k=v  all problems at once, with line and column, and
                                 the plan
  gpctl submit FILE --set optimizer.lr=3e-4 --set budget.steps=500 --wait
  gpctl run FILE                 submit and follow in one; --set-file F reads a
                                 line KEY=VALUE for each setting
)"},
      {"trouble", R"(When something does not work

  gpctl doctor              checks this machine and the programs, with a fix for
                            each problem
  gpctl doctor --overfit F  whether the model of run file F can learn one batch by heart
  gpctl why RUN             why a run waits or failed
  gpctl logs RUN --tail 50  what its trainers wrote
  gpctl events RUN          what happened to it, with reasons
  the service's own logs    logs/ below the state directory that gpctl up printed
)"},
  };
  return topics;
}

}  // namespace

std::vector<std::string> HelpTopics() {
  std::vector<std::string> names;
  for (const auto& entry : Topics()) names.push_back(entry.first);
  return names;
}

std::string HelpTopic(const std::string& topic) {
  const auto found = Topics().find(topic);
  return found == Topics().end() ? "" : found->second;
}

}  // namespace gp::gpctl
