"""Stage `collect`: metrics/runs, metrics/analyses -> metrics/warehouse, metrics/headline.json."""

from _run import run


def collect(params):
    from perlayer.output import say
    from perlayer.warehouse.collect import collect as gather
    from perlayer.warehouse.collect import set_aside

    set_aside(params, "metrics")
    absent = gather(params, "metrics", "metrics/warehouse", ["data/shards"])
    left_out = [name for stage, name in absent.left_out if stage == "train"]
    here = len(params["runs"]) - len(absent.runs) - len(left_out)
    others = f"; absent: {', '.join(absent.runs)}" if absent.runs else ""
    say(f"{here} of {len(params['runs'])} runs at size {params['size']}{others}")
    for (stage, name), reason in absent.left_out.items():
        say(f"{stage}: {name} is left out: {reason}")
    for stage, names in absent.analyses.items():
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        say(f"{stage}: absent: {', '.join(names[:4])}{more}")


if __name__ == "__main__":
    run(collect)
