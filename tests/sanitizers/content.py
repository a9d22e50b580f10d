"""The content of a suite: a digest of the sources of its program. It changes when the code changes; renaming or moving a file,
or changing comments, blank space or #include lines, does not change it."""
import hashlib
import json
import pathlib
import re
import subprocess

CPP = (".cc", ".h", ".cu", ".cuh", ".inc", ".proto")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
# Matches the parts of a source that do not count. Literals are matched too, because they may contain what looks like a comment
# or blank space; they are kept, and so are numbers such as 1'000, whose ' does not begin a literal.
TOKEN = re.compile(r"""
    \#[ \t]*include[^\n]*
  | //(?:[^\\\n]|\\.)*
  | /\*.*?\*/
  | \s+
  | (?P<kept>
        (?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"
      | "(?:[^"\\\n]|\\.)*"
      | (?<!\w)\d[\w.]*(?:'\w+)+
      | '(?:[^'\\\n]|\\.)*'
    )""", re.VERBOSE | re.DOTALL)
DIGEST_LENGTH = 12  # number of hexadecimal digits that are recorded


def without_comments(source):
    """The source without comments, blank space and #include lines."""
    return TOKEN.sub(lambda token: token["kept"] or "", source)


def include_folders(tree):
    """The folders in which the compilations of a build tree search for headers."""
    commands = [entry["command"] for entry in json.loads((tree / "compile_commands.json").read_text(encoding="utf-8"))]
    return sorted({pathlib.Path(folder) for command in commands for folder in re.findall(r"-I(\S+)", command)})


def inputs_of(tree, program):
    """The files from which Ninja builds a program, without headers."""
    listing = subprocess.run(["ninja", "-C", str(tree), "-t", "inputs", program], check=True, capture_output=True, text=True)
    return [tree / line for line in listing.stdout.splitlines()]


class Contents:
    """Digests of programs; reads each file once. Only files of the project under `root` count, not third-party or generated
    ones. A generated file leads to the sources that it includes, because cmake/BuildSpeed.cmake compiles several sources
    together."""

    def __init__(self, root, folders):
        self.root = root
        self.folders = [folder for folder in folders if self._counts(folder)]
        self.headers = {}  # file: the files of the project that it includes
        self.digests = {}  # file: digest of its code

    def digest(self, inputs):
        """The digest of a program that is built from these files and from the headers that they include."""
        files = filter(self._counts, self._with_headers(inputs))
        # Digests of the code alone, sorted, so names and folders do not matter.
        digests = sorted({self._digest_of(file) for file in files})
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:DIGEST_LENGTH]

    def _counts(self, file):
        return file.is_relative_to(self.root) and file.relative_to(self.root).parts[:1] not in (("build",), (".deps",))

    def _with_headers(self, inputs):
        found, waiting = set(), [file for file in inputs if file.is_relative_to(self.root) and file.is_file()]
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                waiting += self._included_by(file)
        return found

    def _included_by(self, file):
        if file not in self.headers:
            names = INCLUDE.findall(file.read_text(encoding="utf-8")) if file.suffix in CPP else []
            self.headers[file] = [header for name in names if (header := self._find_header(file, name))]
        return self.headers[file]

    def _find_header(self, file, name):
        candidates = (folder / name for folder in (file.parent, *self.folders))
        return next((header for header in candidates if self._counts(header) and header.is_file()), None)

    def _digest_of(self, file):
        if file not in self.digests:
            code = file.read_bytes()
            if file.suffix in CPP:
                code = without_comments(code.decode()).encode()
            self.digests[file] = hashlib.sha256(code).hexdigest()
        return self.digests[file]
