"""The facts that scripts/gpu_check reports about a machine."""
import unittest
import unittest.mock

import gpu_check_case  # noqa: F401  (first: it adds the modules' folder to sys.path)
import libraries
import machine_facts


class Machine(unittest.TestCase):
    def test_compares_versions_of_glibc_as_numbers(self):
        self.assertTrue(machine_facts.older("2.9", "2.34"))
        self.assertFalse(machine_facts.older("2.36", "2.34"))

    def test_says_which_libraries_are_missing(self):
        with unittest.mock.patch.object(libraries, "found", return_value={"cuDNN": None, "NCCL": "x"}):
            with self.assertRaisesRegex(RuntimeError, "not found: cuDNN; use a Python with torch"):
                machine_facts.facts(None)

    def test_names_a_gpu_for_files(self):
        self.assertEqual(machine_facts.slug("NVIDIA H100 80GB HBM3"), "nvidia-h100-80gb-hbm3")


if __name__ == "__main__":
    unittest.main()
