// The command families. Each function adds its commands with their flags to the set. Called once,
// by AddAllCommands.
#pragma once

#include "client/gpctl/commands/command_set.h"

namespace gp::gpctl {

inline constexpr char kServiceGroup[] = "Local service";
inline constexpr char kDataGroup[] = "Data";
inline constexpr char kRunFileGroup[] = "Run files";
inline constexpr char kRunGroup[] = "Runs";
inline constexpr char kModelGroup[] = "Models";
inline constexpr char kAccessGroup[] = "Access";
inline constexpr char kOtherGroup[] = "Other";

void AddServiceCommands(CommandSet& commands);     // up, down
void AddSweepCommands(CommandSet& commands);       // sweep submit, status, watch, …
void AddListCommand(CommandSet& commands);         // list
void AddStatusCommands(CommandSet& commands);      // status, why
void AddInitCommand(CommandSet& commands);         // init
void AddRunFileCommands(CommandSet& commands);     // validate, explain
void AddSubmitCommand(CommandSet& commands);       // submit
void AddRunCommand(CommandSet& commands);          // run
void AddWatchCommand(CommandSet& commands);        // watch
void AddTopCommand(CommandSet& commands);          // top
void AddSampleCommand(CommandSet& commands);       // sample
void AddEvalCommand(CommandSet& commands);         // eval
void AddServeCommand(CommandSet& commands);        // serve
void AddChatCommand(CommandSet& commands);         // chat
void AddDemoCommand(CommandSet& commands);         // demo
void AddDoctorCommand(CommandSet& commands);       // doctor
void AddStreamCommands(CommandSet& commands);      // logs, events, metrics
void AddPlotCommand(CommandSet& commands);         // plot
void AddCompareCommand(CommandSet& commands);      // compare
void AddTensorBoardCommand(CommandSet& commands);  // tensorboard
void AddWaitCommand(CommandSet& commands);         // wait
void AddCancelCommand(CommandSet& commands);       // cancel
void AddDeleteCommand(CommandSet& commands);       // delete
void AddDiskUsageCommand(CommandSet& commands);    // du
void AddPauseCommands(CommandSet& commands);       // pause, resume
void AddResizeCommand(CommandSet& commands);       // resize
void AddContinueCommands(CommandSet& commands);    // extend, restart, retry
void AddForkCommand(CommandSet& commands);         // fork
void AddAnnotateCommands(CommandSet& commands);    // label, note
void AddLineageCommand(CommandSet& commands);      // lineage
void AddWorkersCommand(CommandSet& commands);      // workers list, cordon, drain, uncordon, revoke
void AddCheckpointCommands(CommandSet& commands);  // ckpt list, show, verify, pin, …
void AddDataCommands(CommandSet& commands);        // data (commands/data/data.h)
void AddImportCommand(CommandSet& commands);       // import
void AddExportCommand(CommandSet& commands);       // export
void AddBenchCommand(CommandSet& commands);        // bench
void AddLoginCommand(CommandSet& commands);        // login
void AddContextCommands(CommandSet& commands);     // context
void AddTokenCommands(CommandSet& commands);       // token create, list, revoke; whoami
void AddAuditCommands(CommandSet& commands);       // audit
void AddNotifyCommands(CommandSet& commands);      // notify list, test
void AddVersionCommand(CommandSet& commands);      // version
void AddHelpCommand(CommandSet& commands);         // help
void AddCompletionCommand(CommandSet& commands);   // completion

}  // namespace gp::gpctl
