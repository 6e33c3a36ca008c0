"""tools/setup with commands of the system replaced: what it says and does where packages are missing."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "tools/setup"
REAL = ["bash", "env", "grep", "mktemp", "rm", "tail"]


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bin = pathlib.Path(self.folder.name)
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name))
        self.stub("apt-get", f'echo "$@" >> {self.bin}/asked')

    def stub(self, name, script):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)

    def installed(self, missing):
        self.stub("dpkg-query", f'case " {missing} " in *" ${{@: -1}} "*) exit 1 ;; esac\n'
                                'echo "install ok installed"')

    def run_setup(self, user, *words):
        self.stub("id", f"echo {user}")
        done = subprocess.run([SETUP, *words], env={**os.environ, "PATH": str(self.bin)}, text=True,
                              capture_output=True, timeout=60)
        asked = self.bin / "asked"
        return done, asked.read_text() if asked.exists() else ""

    def test_installs_nothing_where_all_is_there(self):
        self.installed("")
        done, asked = self.run_setup(1000)
        self.assertEqual((done.returncode, done.stderr, asked), (0, "", ""))

    def test_without_root_one_line_names_what_is_missing(self):
        self.installed("cmake libgtest-dev")
        done, asked = self.run_setup(1000)
        self.assertEqual((done.returncode, done.stdout, asked), (1, "", ""))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertTrue(done.stderr.endswith("missing Debian packages: cmake libgtest-dev\n"))

    def test_the_program_needs_no_test_packages(self):
        self.installed("libgtest-dev libbenchmark-dev libdnnl-dev clang clang-format clang-tidy")
        done, _ = self.run_setup(1000, "--program")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_named_packages_are_looked_for_too(self):
        self.installed("nginx")
        done, _ = self.run_setup(1000, "nginx")
        self.assertTrue(done.stderr.endswith("missing Debian packages: nginx\n"))

    def test_root_installs_what_is_missing(self):
        self.installed("cmake clang")
        done, asked = self.run_setup(0)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("install -y -qq --no-install-recommends cmake clang\n", asked)

    def test_without_network_one_line_names_what_is_missing(self):
        self.installed("cmake")
        self.stub("apt-get", 'echo "E: Unable to fetch some archives" >&2; exit 100')
        done, _ = self.run_setup(0)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("E: Unable to fetch some archives", done.stderr)
        self.assertTrue(done.stderr.endswith("missing Debian packages: cmake\n"))


if __name__ == "__main__":
    unittest.main()
