"""Check every choice in params.yaml, and write down which files of code each run uses."""

from _run import run


def plan(params):
    from pathlib import Path

    from perlayer.closure import ImportClosure
    from perlayer.plan import check_params, compile_code, write_code, write_plans
    from perlayer.project import LOADED
    from perlayer.questions import check
    from perlayer.store import replace_text

    closure = ImportClosure(LOADED)
    check()
    write_plans(check_params(params), params["rungs"], closure, Path("data/plan"))
    write_code(Path("stages"), closure, Path("data/code"))
    compile_code(LOADED)
    # always the same, so that the data stages wait for the check and are not run again when another run is added
    replace_text("data/checked", "Every choice in params.yaml has been checked.\n")


if __name__ == "__main__":
    run(plan)
