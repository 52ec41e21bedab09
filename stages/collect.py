"""Stage `collect`: metrics/runs -> metrics/warehouse, metrics/headline.json."""

from _run import run


def collect(params):
    from perlayer.warehouse.collect import collect as gather

    absent = gather(params, "metrics", "metrics/warehouse")
    here = len(params["runs"]) - len(absent)
    print(f"{here} of {len(params['runs'])} runs at size {params['size']}", end="")
    print(f"; absent: {', '.join(absent)}" if absent else "")


if __name__ == "__main__":
    run(collect)
