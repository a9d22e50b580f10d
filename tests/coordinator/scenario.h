// Scenario: drives the coordinator's core with a text. Each block is a command, "----", and the
// coordinator's decisions in response, one per line:
//
//   submit a workers=2
//   ----
//   a queued: placement: needs 2 slots, no node offers any; start gp-worker on a node
//
// Commands (RUN is the name with which the run was submitted):
//   node NAME slots=N [gpus=N] [storage=bad] [driver=bad]    lose NAME gpu=N    mend NAME
//   silence NAME    hello NAME    crash NAME
//   leave NAME                                 its agent is being stopped
//   cordon NAME [reason=X]   drain NAME [reason=X]   uncordon NAME
//   busy NAME                                  prints how many of its slots are not empty
//   submit RUN [workers=N] [device=D] [priority=N] [retries=N] [keep_last=N] [keep_every=N] [seen]
//       with survivors=N                       when ranks die, N others are enough to go on
//       with most=N                            it may have so many ranks
//       with from=PARENT@STEP                  it begins from this checkpoint of a run
//       with keeps                             and goes on in the parent's data
//   cancel RUN [now]   pause RUN   resume RUN
//   resize RUN workers=N                       a user asks for this number of ranks
//   leg RUN [from=STEP] [why=X] [request=ID]   a user asks for another leg; -1: from the start
//   legs RUN                                   prints its legs and checkpoints
//   listening RUN   ready RUN   running RUN    every rank of the run reaches this phase
//       with rank=N                            only this rank does
//       listening RUN isa=LEVEL,LEVEL          offering these tuned instruction-set levels
//       listening RUN nccl=ID                  with this NCCL id from rank 0
//       running RUN step=N                     and the last step that it has committed
//   hold RUN [rank=N]                          a rank has lost a peer and waits for another group
//   standby RUN [rank=N]                       ranks that were started to join are ready for it;
//       without rank=N no other command moves them
//   exit RUN [rank=N] cause=CAUSE [code=N]     a rank ends: error signal (9) collective config
//                                              storage unfit damaged data stalled completed stopped
//   write RUN step=N [loss=X] [final]          rank 0 wrote a checkpoint
//   await RUN [rank=N] peer=N ms=N             a rank has waited for this peer; its limit is 2 s
//       with nothing instead of peer=N         it computes
//   lack RUN [rank=N] [what=X]                 a rank waits for X; without X: it continues
//   found RUN whole|damaged|unreadable         the coordinator has read the suspected checkpoint
//   restore RUN step=N                         a user restores this checkpoint from quarantine
//   pin RUN step=N [epoch=N]   unpin RUN step=N [epoch=N]   prune RUN [keep_last=N]
//   delete RUN [keep] [request=ID]             a user deletes the run; keep: not its checkpoints
//   sweep NAME trials=N [parallel=N] [halve=ETA | median=MIN_STEPS] [request=ID] [body=X]
//       trial N is the run NAME-N, with a budget of 40 steps; the rungs are 10, 20 and 40
//   cancel_sweep NAME   trials NAME            prints the trials of the sweep
//   advance DURATION                           time passes; agents that are not silent report
//   restart                                    the coordinator is killed and started again
//   wall DURATION                              the wall clock is set back
//   show RUN                                   prints its state and reason
//   stops RUN                                  prints which ranks are told to stop, and how
//   ids RUN                                    prints the NCCL id in each rank's assignment
// Lines that begin with # are comments and stay where they are.
#pragma once

#include <string>

namespace gp::coordinator {

// Runs the scenario and returns its text, with each answer replaced by the coordinator's current
// one.
std::string RunScenario(const std::string& text);

}  // namespace gp::coordinator
