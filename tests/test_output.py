import subprocess
import sys

SAYS = "from perlayer.output import say; say('first'); input(); say('second'); say('third'); open('done', 'w')"


def test_where_the_reader_has_left_the_work_goes_on(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", SAYS], cwd=tmp_path, text=True, **pipes)
    assert process.stdout.readline() == "first\n"
    process.stdout.close()
    _, said = process.communicate("\n")
    assert (process.returncode, said, (tmp_path / "done").exists()) == (0, "", True)
