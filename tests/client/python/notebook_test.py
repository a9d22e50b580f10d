"""Executes docs/tutorials/notebook.ipynb with nbclient, as a reader runs its cells, with a service of its own."""

import os
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

import python_packages

python_packages.continue_there()

import nbclient  # noqa: E402
import nbformat  # noqa: E402
from local_service import LocalService  # noqa: E402

FOLDER = python_packages.SOURCE / "docs" / "tutorials"
SECONDS_MAX = 300  # for one cell


def executed(folder):
    """The notebook, with the outputs of its cells."""
    notebook = nbformat.read(folder / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(
        notebook, timeout=SECONDS_MAX, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def output_of(notebook, beginning):
    """Everything that the cell with this beginning printed or showed."""
    [cell] = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.startswith(beginning)]
    printed = "".join(output.get("text", "") for output in cell.outputs)
    return printed + "\n".join(text for output in cell.outputs for text in output.get("data", {}).values())


class Notebook(unittest.TestCase):
    def test_every_cell_runs_and_shows_what_the_text_promises(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="gp-notebook-")))
        service = LocalService(root)
        self.addCleanup(service.down)
        shutil.copytree(FOLDER.parent, root / "docs", ignore=shutil.ignore_patterns("benchmarks"))
        kernels = {"JUPYTER_PLATFORM_DIRS": "1", "PATH": f"{python_packages.PYTHON.parent}:{os.environ['PATH']}"}
        with unittest.mock.patch.dict(os.environ, {**service.variables, **kernels}):
            notebook = executed(root / "docs" / "tutorials")
        self.assertIn("succeeded", output_of(notebook, "run.wait()"))
        self.assertIn("<svg", output_of(notebook, "run.wait()"))
        self.assertIn("120/120", output_of(notebook, "run.wait()"))
        self.assertIn("tokens_per_second", output_of(notebook, "frame ="))
        self.assertIn("did you mean 'optimizer.lr'?", output_of(notebook, "try:"))
        self.assertIn("optimizer.lr", output_of(notebook, "slower ="))
        self.assertEqual(output_of(notebook, "for checkpoint").count("\n"), 3)
        self.assertIn("the run of the tutorial", output_of(notebook, "run.label"))

    def test_the_file_has_no_outputs(self):
        notebook = nbformat.read(FOLDER / "notebook.ipynb", as_version=4)
        self.assertFalse([cell for cell in notebook.cells if cell.get("outputs")])


if __name__ == "__main__":
    unittest.main()
