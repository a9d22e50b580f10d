"""The command blocks of a Markdown page. A comment before each block tells who executes it."""

import dataclasses
import re

COMMANDS = ("gp-", "gpctl", "promtool", "kubectl", "systemctl", "journalctl", "docker", "sbatch", "scp ", "curl ", "sqlite3 ",
            "openssl ", "sudo ", "apt ", "scripts/", "make ")
EXECUTED = "executed"
NOT_RUN = "not run: "


@dataclasses.dataclass
class Block:
    line: int
    mark: str  # the comment before the block; empty if there is none
    fenced: bool
    lines: list

    def has_commands(self):
        return any(line.strip().removeprefix("$ ").removeprefix("# ").startswith(COMMANDS) for line in self.lines)


def blocks_of(text):
    """Every fenced or indented block."""
    found, mark, lines = [], "", text.splitlines()
    index = 0
    while index < len(lines):
        line = lines[index]
        comment = re.fullmatch(r"\s*<!-- (.*) -->", line)
        if comment:
            mark = comment.group(1)
        elif re.match(r"\s*```", line):
            end = next(place for place in range(index + 1, len(lines)) if lines[place].strip() == "```")
            found.append(Block(index + 1, mark, True, lines[index + 1:end]))
            index, mark = end, ""
        elif line.startswith("    ") and not lines[index - 1].strip():
            end = index
            while end < len(lines) and line_is_indented(lines[end]):
                end += 1
            found.append(Block(index + 1, mark, False, lines[index:end]))
            index, mark = end - 1, ""
        elif line.strip():
            mark = ""
        index += 1
    return found


def line_is_indented(line):
    return line.startswith("    ") or not line.strip()


def problem_of(block, source):
    """Why it is unclear whether the block's commands work; None if a test executes them or the mark gives a reason."""
    if not block.has_commands():
        return None
    if not block.fenced:
        return "write the commands as a ```console block, so that they can be marked"
    if block.mark == EXECUTED:
        return None
    if not block.mark.startswith(NOT_RUN):
        return "needs the mark '<!-- executed -->', or '<!-- not run: REASON -->'"
    reason = block.mark.removeprefix(NOT_RUN)
    if len(reason.split()) < 3:
        return f"'{reason}' is no reason"
    absent = [path for path in re.findall(r"tests/\S+\.py", reason) if not (source / path).exists()]
    return f"{absent[0]} does not exist" if absent else None
