"""The one rule of comparison: contrasts in; estimates, intervals and verdicts out.

A claim is a set of parts. A part is a linear contrast of group means, the sum of c_g mean_g, with a threshold and a
side. The `contrasts.sql` of a question returns a row for each run of each group of each part of each claim:

| column          | what it says                                                                                       |
|-----------------|----------------------------------------------------------------------------------------------------|
| claim           | which claim of the question                                                                        |
| part            | which part of the claim, such as `layer 3`                                                         |
| side            | where the contrast is claimed to lie: `above` or `below` the threshold, or `within` the smallest   |
|                 | effect of it; or that it `differs` from it                                                         |
| threshold       | what it is compared with, mostly 0                                                                 |
| coefficient     | of the mean of the row's group                                                                     |
| group           | the seed group: runs that differ in nothing but seed or what looks on; the name of one of its runs |
| run             | the run; null where the group has none, which makes the claim `not run`                            |
| value           | the run's one number; null where it was not measured. What compares layers, steps or halves is     |
|                 | worked out within each run first, on a scale on which effects add                                  |
| pool            | what scatters alike over seeds: size, depth, readout, layer and quantity as one text; of a run it  |
|                 | holds one number                                                                                   |
| smallest_effect | optional: below which a difference is none, in units of value; else that of the rule, in nats      |
| step            | optional: by how much value moves where it moves in steps: a rank correlation, a layer, a choice   |
| paired          | optional: true where the runs of one seed share their beginning: their differences are compared    |
| pooled          | optional: false for an own run, which is judged by a pool without being part of it                 |
| low, high       | optional: the interval of value, over text or against random controls (`perlayer.intervals`), at   |
|                 | the confidence of the rule; value itself, twice, where it is exact. The part is this single row    |
| covers          | with low and high: what the interval covers: text, random controls, nothing                        |
| standard_error  | in place of low and high, what tells them: the interval is Student's, or normal without            |
|                 | degrees_of_freedom                                                                                 |

Rows of a part agree in side, threshold, smallest_effect and paired, those of a group in it in pool and step. Each part
has a row, also where nothing has run.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from decimal import Decimal
from functools import reduce
from typing import NamedTuple

import numpy as np

from perlayer.errors import UserError, require, shortened
from perlayer.tables import Int32
from perlayer.verdicts import NO, NO_EFFECT, NOT_RUN, UNDECIDED, YES

SIDES = ("above", "below", "differs", "within")
LEAST_DEGREES = 4  # of freedom, to decide anything
MOST_SEEDS = 50  # that are asked for to decide one claim
SEED = 0


@dataclass(frozen=True)
class Rule:
    """How sure a verdict is, and from where on a difference is an effect."""

    confidence: float
    smallest_effect: float  # in nats, for what names none of its own

    def __post_init__(self):
        require(0.5 < self.confidence < 1, "confidence", "a number above 0.5 and below 1", self.confidence)
        require(0 <= self.smallest_effect < math.inf, "smallest_effect", "a number not below 0", self.smallest_effect)


@dataclass(frozen=True)
class Row:
    """A row of `contrasts.sql`, as the table above has it."""

    question: str
    claim: str
    part: str
    side: str
    threshold: float | None
    coefficient: float
    group: str | None
    run: str | None
    value: float | None
    pool: str | None
    smallest_effect: float | None = None
    step: float | None = None
    paired: bool | None = None
    pooled: bool | None = None
    low: float | None = None
    high: float | None = None
    covers: str | None = None
    standard_error: float | None = None
    degrees_of_freedom: float | None = None

    def __post_init__(self):
        self.expect(self.side in SIDES, f"a side, one of {', '.join(SIDES)}", self.side)
        if not self.measured:
            return
        self.expect(self.group is not None, f"a group of {self.run}", self.group)
        for name in ("threshold", "coefficient", "value", "smallest_effect", "step"):
            number = getattr(self, name)
            size = name in ("smallest_effect", "step")  # optional, and not below 0
            fits = size if number is None else math.isfinite(number) and not (size and number < 0)
            self.expect(fits, f"a number as {name} of {self.run}", number)
        if self.given:
            ends = (self.low, self.high) if self.standard_error is None else (-self.standard_error, self.standard_error)
            self.expect(None not in ends and ends[0] <= ends[1], "low and high, in this order", ends)
            self.expect(self.covers is not None, "beside low and high what they cover", self.covers)
        else:
            self.expect(self.pool is not None, f"a pool for {self.run}", self.pool)

    @property
    def measured(self) -> bool:
        return self.run is not None and self.value is not None

    @property
    def given(self) -> bool:
        """Whether it brings its interval."""
        return self.low is not None or self.high is not None or self.standard_error is not None

    def bounded(self, confidence: float) -> Row:
        """The same with the ends of its interval where it has a standard error."""
        from scipy.special import stdtrit  # what only asks does not wait for it

        if self.standard_error is None or not self.measured:
            return self
        degrees = math.inf if self.degrees_of_freedom is None else self.degrees_of_freedom
        told = self.standard_error if degrees >= LEAST_DEGREES else math.inf
        half = float(stdtrit(min(degrees, 1e9), (1 + confidence) / 2)) * told if told else 0.0
        return replace(self, low=self.value - half, high=self.value + half)

    def expect(self, condition: bool, expected: str, found: object) -> None:
        """Raise `UserError` unless `condition` holds."""
        if not condition:
            where = f"{self.question}: claim {self.claim!r}, part {self.part!r}"
            raise UserError(f"{where}: expected {expected}, found {shortened(found)}")


@dataclass(frozen=True)
class Contrast:
    """A part of a claim as it was measured and judged."""

    question: str
    claim: str
    part: str
    side: str  # above, below, differs or within
    threshold: float | None
    smallest_effect: float  # a difference from the threshold that is smaller is none
    estimate: float | None
    standard_error: float | None  # over seeds; null where too few tell it, and of an interval that was given
    degrees_of_freedom: float | None  # of the standard error; null where nothing scatters
    low: float | None  # the ends of the interval; null where nothing bounds it
    high: float | None
    seeds: Int32 | None  # of the group that has fewest; null of an interval that was given
    covers: str | None  # what the interval covers
    verdict: str  # yes, no, no effect, undecided or not run
    small: bool  # whether it is a yes of less than the smallest effect


@dataclass(frozen=True)
class Claim:
    """How a claim fares."""

    question: str
    claim: str
    verdict: str  # yes, no, no effect, undecided or not run
    small: bool  # whether it is a yes, and a part of it of less than the smallest effect
    more_seeds: Int32 | None  # how many would decide what is undecided; null where 50 would not


@dataclass(frozen=True)
class MoreSeeds:
    """How many more seeds of one group it takes to decide a claim, if estimate and scatter stay as they are."""

    question: str
    claim: str
    group: str
    seeds: Int32


class Judged(NamedTuple):
    """What comes of the rows of all questions, in their order."""

    contrasts: list[Contrast]
    claims: list[Claim]
    more_seeds: list[MoreSeeds]


def rows_of(question: str, columns: Sequence[str], values: Iterable[Sequence]) -> list[Row]:
    """The rows that the `contrasts.sql` of a question returned.

    Raises:
        UserError: a column is missing or unknown.
    """
    known = {field.name: field.default is MISSING for field in fields(Row) if field.name != "question"}
    wrong = [name for name, needed in known.items() if needed and name not in columns]
    if wrong := wrong + [name for name in columns if name not in known]:
        raise UserError(f"{question}: contrasts.sql: expected the columns {', '.join(known)}, found {wrong[0]} amiss")
    # What SQL writes as 0.5 comes as a decimal.
    numbers = ([float(value) if isinstance(value, Decimal) else value for value in row] for row in values)
    return [Row(question, **dict(zip(columns, row))) for row in numbers]


def judge(rows: Iterable[Row], seeds: Mapping[str, object], rule: Rule) -> Judged:
    """Judge the claims of all questions together, since groups of one pool share their scatter.

    Over seeds the standard error is the root of the sum of c^2 s^2 / n. The variance s^2 is that within all groups of
    the pool that have two seeds or more; of a group of three or more its own where that is larger; and never less than
    step^2 / 12, that of rounding to steps. Its degrees of freedom are the pool's; of a contrast over several pools they
    are Satterthwaite's (1946). The interval is Student's. Fewer than four degrees of freedom, or a group of one seed,
    leave a part undecided.

    In this order, an interval is `yes` wholly beyond the threshold on the side that is claimed, `no` wholly on the
    other side, `no effect` nowhere farther from the threshold than the smallest effect, else `undecided`. It `differs`
    on either side, for which there is no `no`; it is `within` where else there were no effect, and not where it is
    wholly farther. A claim of several parts is yes where all are; no where one is at confidence
    1 - (1 - confidence) / parts (Bonferroni), for which an interval that is given is widened like a normal one; no
    effect where none is no and one is no effect.

    Args:
        rows: of all questions: their runs form the pools.
        seeds: of each run its seed. Runs of one group and one seed count once; a run without a seed counts for itself.

    Raises:
        UserError: rows contradict each other, or hold what is no number.
    """
    table = _Table(rows, seeds, rule)
    values = table.values[:, None]
    judged, variances = Judged([], [], []), table.variances(values)
    for (question, claim), parts in table.claims.items():
        measured = [_measure(part, values, variances) for part in parts]
        verdict, found = _decide(parts, measured, table.degrees(parts, {}), rule)
        contrasts = [_contrast(part, one) for part, one in zip(parts, found)]
        small = verdict[0] == YES and any(contrast.small for contrast in contrasts)
        more = _more_seeds(table, parts, measured, rule) if verdict[0] == UNDECIDED else Counter()
        judged.contrasts.extend(contrasts)
        judged.claims.append(Claim(question, claim, str(verdict[0]), bool(small), more.total() or None))
        judged.more_seeds.extend(MoreSeeds(question, claim, group, number) for group, number in sorted(more.items()))
    return judged


def by_chance(
    rows: Iterable[Row],
    seeds: Mapping[str, object],
    rule: Rule,
    scatter: Mapping[str, float] | None = None,
    draws: int = 2000,
) -> dict[tuple[str, str], float]:
    """How often each claim comes out yes or no where there is no effect; the sum is how many do by chance alone.

    The rows are judged with values that are drawn: each group scatters as it was measured to, one of a single seed as
    its pool, and every contrast is the threshold but for that.

    Args:
        rows: as in `judge`; so are seeds and rule.
        scatter: groups that scatter more than they were measured to, and how many times as much.
        draws: how many; they are the same every time.

    Returns:
        By question and claim, the share of the draws in which it is yes or no; where all parts are claimed to be within
        the smallest effect, which is right then, in which it is no.
    """
    table = _Table(rows, seeds, rule)
    scales = table.scales(rule.confidence, scatter or {})[:, None]
    noise = scales * np.random.Generator(np.random.PCG64(SEED)).standard_normal((len(scales), draws))
    shares, variances = {}, table.variances(noise)
    for key, parts in table.claims.items():
        parts = [replace(part, row=replace(part.row, threshold=0.0)) for part in parts]
        measured = [_measure(part, noise, variances) for part in parts]
        verdict, _ = _decide(parts, measured, table.degrees(parts, {}), rule)
        wrong = [NO] if all(part.row.side == "within" for part in parts) else [YES, NO]
        shares[key] = float(np.isin(verdict, wrong).mean())
    return shares


# From here on numbers are of many draws at once: values are (numbers, draws), and what a part comes to is (draws,).
Draws = float | np.ndarray


@dataclass(frozen=True)
class _Group:
    """What a part takes from a group of runs."""

    coefficient: float
    pool: str
    cells: list[int]  # where the numbers of its seeds stand
    step: float
    trained: tuple[str, ...]  # the groups of which one more seed is one more number: itself, or those of a pair


@dataclass(frozen=True)
class _Part:
    row: Row  # any of its rows, for what all of them say
    groups: tuple[_Group, ...] = ()
    seeds: int | None = None
    covers: str | None = None
    given: tuple[int, float, float] | None = None  # where a number stands, and its interval's ends less the number
    run: bool = True


class _Measured(NamedTuple):
    estimate: np.ndarray
    variances: list[np.ndarray]  # s^2 of each group
    counts: list[Draws]  # and how many seeds it has


class _Found(NamedTuple):
    estimate: np.ndarray
    error: np.ndarray
    degrees: np.ndarray
    low: np.ndarray
    high: np.ndarray
    verdict: np.ndarray


class _Table:
    """All claims, and the numbers that they rest on: one for each pool, group and seed, or for a given interval."""

    def __init__(self, rows: Iterable[Row], seeds: Mapping[str, object], rule: Rule):
        self.seeds = seeds
        self.cells: dict[tuple, int] = {}  # by pool, group and seed, where the number stands
        self.runs: list[dict[str, float]] = []  # and there, of all runs that count once, theirs
        self.owners: dict[tuple[str, str], str] = {}  # by pool and run, its group
        self.groups: dict[tuple[str, str], list[int]] = defaultdict(list)  # where those of a pool and group stand
        # The same without own runs by pool, and by the groups of which one more seed is one more number.
        self.pools: dict[str, dict[tuple[str, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
        by_part: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            smallest = rule.smallest_effect if row.smallest_effect is None else row.smallest_effect
            row = replace(
                row.bounded(rule.confidence), smallest_effect=smallest, step=row.step or 0.0, paired=bool(row.paired)
            )
            by_part[row.question, row.claim][row.part].append(row)
        self.claims = {key: [self._part(rows) for rows in parts.values()] for key, parts in by_part.items()}
        self.values = np.array([math.fsum(runs.values()) / len(runs) for runs in self.runs])

    def degrees(self, parts: Iterable[_Part], added: Mapping[str, Draws]) -> dict[str, Draws]:
        """The degrees of freedom of each pool that parts use, with further seeds of some groups."""
        return {
            pool: sum(len(cells) + _further(trained, added) - 1 for trained, cells in self.pools[pool].items())
            for pool in {group.pool for part in parts for group in part.groups}
        }

    def variances(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """The variance within the groups of each pool, NaN where none has two seeds."""
        found = defaultdict(lambda: np.full(values.shape[1], np.nan))
        for pool, groups in self.pools.items():
            if degrees := sum(len(cells) - 1 for cells in groups.values()):
                found[pool] = sum(len(cells) * values[cells].var(axis=0) for cells in groups.values()) / degrees
        return found

    def scales(self, confidence: float, scatter: Mapping[str, float]) -> np.ndarray:
        """The standard deviation of each number, as measured."""
        scales, variances = np.zeros(len(self.values)), self.variances(self.values[:, None])
        from scipy.special import ndtri

        for part in (part for parts in self.claims.values() for part in parts if part.given):
            cell, low, high = part.given
            scales[cell] = (high - low) / 2 / ndtri((1 + confidence) / 2) if math.isfinite(high - low) else 0.0
        for (pool, name), cells in self.groups.items():
            alone = math.sqrt(np.nan_to_num(variances[pool][0]))
            scales[cells] = scatter.get(name, 1.0) * (self.values[cells].std(ddof=1) if len(cells) > 1 else alone)
        return scales

    def _part(self, rows: list[Row]) -> _Part:
        first, by_name = rows[0], defaultdict(list)
        for row in rows:
            for name in ("side", "threshold", "smallest_effect", "paired"):
                said = (getattr(first, name), getattr(row, name))
                row.expect(said[0] == said[1], f"one {name} in all rows", said)
            by_name[row.group] += [row] if row.measured else []
        if not all(by_name.values()):
            return _Part(first, run=False)
        if any(row.given for row in rows):
            first.expect(len(rows) == 1, "a single row where low and high are given", len(rows))
            cell = self._place(
                first, ("given", first.question, first.claim, first.part), first.coefficient * first.value
            )
            low, high = sorted(first.coefficient * (end - first.value) for end in (first.low, first.high))
            return _Part(first, covers=first.covers, given=(cell, low, high))
        for row in (row for measured in by_name.values() for row in measured):
            pool = by_name[row.group][0].pool
            expected = f"one pool for group {row.group} (what compares within a run is worked out in each run first)"
            row.expect(row.pool == pool, expected, (pool, row.pool))
            group = self.owners.setdefault((pool, row.run), row.group)
            row.expect(row.group == group, f"{row.run} in one group of pool {pool!r}", (group, row.group))
        sums = {name: _coefficient(measured) for name, measured in by_name.items()}
        if first.paired and any(sums.values()):
            return self._pairs({name: measured for name, measured in by_name.items() if sums[name] != 0}, sums)
        groups = []
        for name, measured in by_name.items():
            pool, step = measured[0].pool, measured[0].step
            cells = {self._place(row, (pool, name, self._seed(row)), row.value, (name,)) for row in measured}
            groups.append(_Group(sums[name], pool, sorted(cells), step, (name,)))
        differing = tuple(group for group in groups if group.coefficient != 0)
        seeds = min(len(group.cells) for group in groups)
        return _Part(first, differing, seeds, "initial weights" if differing else "nothing")

    def _pairs(self, by_name: Mapping[str, list[Row]], sums: Mapping[str, float]) -> _Part:
        """The differences of one seed are the numbers of a group of their own, which pool with others like them."""
        rows = [row for measured in by_name.values() for row in measured]
        names, pooled = tuple(sorted(by_name)), all(row.pooled is not False for row in rows)
        pool = " ".join(sorted(f"{sums[name]:+g} {by_name[name][0].pool}" for name in names))
        values = {name: {self._seed(row): row.value for row in by_name[name]} for name in names}
        cells = []
        for seed in sorted(set.intersection(*map(set, values.values())), key=str):
            difference = math.fsum(sums[name] * values[name][seed] for name in names)
            row = replace(rows[0], run=f"seed {seed}", pool=pool, pooled=pooled)
            cells.append(self._place(row, (pool, " and ".join(names), seed), difference, names))
        step = math.hypot(*(sums[name] * by_name[name][0].step for name in names))
        return _Part(rows[0], (_Group(1.0, pool, cells, step, names),), len(cells), "initial weights", run=bool(cells))

    def _seed(self, row: Row) -> object:
        return self.seeds.get(row.run, row.run)

    def _place(self, row: Row, key: tuple, value: float, trained: tuple[str, ...] = ()) -> int:
        """Where a number stands, once it is there."""
        cell = self.cells.setdefault(key, len(self.cells))
        if cell == len(self.runs):
            self.runs.append({})
        found = self.runs[cell].setdefault(row.run, value)
        row.expect(found == value, f"one number of {row.run} in pool {row.pool!r}", (found, value))
        if trained and cell not in self.groups[key[:2]]:
            self.groups[key[:2]].append(cell)
        if trained and row.pooled is not False and cell not in self.pools[row.pool][trained]:
            self.pools[row.pool][trained].append(cell)
        return cell


def _coefficient(rows: Iterable[Row]) -> float:
    """What rows of one group come to together; each of its runs counts once, as often as it names a coefficient."""
    times: dict[float, int] = defaultdict(int)
    for (coefficient, _), count in Counter((row.coefficient, row.run) for row in rows).items():
        times[coefficient] = max(times[coefficient], count)
    total = math.fsum(coefficient * count for coefficient, count in times.items())
    return 0.0 if abs(total) < 1e-12 * max(map(abs, times)) else total


def _further(trained: tuple[str, ...], added: Mapping[str, Draws]) -> Draws:
    """How many more numbers further seeds of some groups are."""
    return reduce(np.minimum, (added.get(group, 0) for group in trained))


def _measure(part: _Part, values: np.ndarray, pools: Mapping[str, np.ndarray]) -> _Measured:
    if not part.run:
        return _Measured(np.full(values.shape[1], np.nan), [], [])
    if part.given:
        return _Measured(values[part.given[0]], [], [])
    estimate, variances = np.zeros(values.shape[1]), []
    for group in part.groups:
        own = values[list(group.cells)]
        estimate = estimate + group.coefficient * own.mean(axis=0)
        variance = np.maximum(pools[group.pool], group.step**2 / 12)  # NaN where the pool tells none
        variances.append(np.maximum(variance, own.var(axis=0, ddof=1)) if len(own) > 2 else variance)
    return _Measured(estimate, variances, [len(group.cells) for group in part.groups])


def _decide(
    parts: list[_Part], measured: list[_Measured], degrees: Mapping[str, int], rule: Rule
) -> tuple[np.ndarray, list[_Found]]:
    """The verdict of a claim, and what each of its parts comes to."""

    def find(confidence: float) -> tuple[list[_Found], np.ndarray]:
        found = [_find(part, this, degrees, rule, confidence) for part, this in zip(parts, measured)]
        return found, np.array([this.verdict for this in found])

    found, verdicts = find(rule.confidence)
    _, strict = find(1 - (1 - rule.confidence) / len(parts)) if len(parts) > 1 else (found, verdicts)
    verdict = np.select(
        [
            (verdicts == NOT_RUN).any(axis=0),
            (verdicts == YES).all(axis=0),
            (strict == NO).any(axis=0),
            (verdicts != NO).all(axis=0) & (verdicts == NO_EFFECT).any(axis=0),
        ],
        [NOT_RUN, YES, NO, NO_EFFECT],
        UNDECIDED,
    )
    return verdict, found


def _find(part: _Part, measured: _Measured, degrees: Mapping[str, int], rule: Rule, confidence: float) -> _Found:
    from scipy.special import ndtri, stdtrit  # what only asks does not wait for it

    estimate = measured.estimate
    unknown = np.full(estimate.shape, np.nan)
    if not part.run:
        return _Found(estimate, unknown, unknown, unknown, unknown, np.full(estimate.shape, NOT_RUN))
    if part.given:
        centre = np.clip(0.0, *part.given[1:])  # the estimate, or the nearer end where that leaves it out
        wider = ndtri((1 + confidence) / 2) / ndtri((1 + rule.confidence) / 2)
        low, high = (estimate + centre + wider * (end - centre) for end in part.given[1:])
        return _Found(estimate, unknown, unknown, low, high, _verdict(part.row, low, high))
    error, freedom = _error(part.groups, measured.variances, measured.counts, degrees)
    error = np.broadcast_to(error, estimate.shape)
    half = np.where(error == 0, 0.0, stdtrit(freedom, (1 + confidence) / 2) * error)
    half = np.where(np.isnan(half), np.inf, half)
    decides = np.greater_equal(freedom, LEAST_DEGREES) & (reduce(np.minimum, measured.counts, 2) > 1)
    verdict = np.where(decides, _verdict(part.row, estimate - half, estimate + half), UNDECIDED)
    return _Found(estimate, error, np.broadcast_to(freedom, error.shape), estimate - half, estimate + half, verdict)


def _error(
    groups: Sequence[_Group], variances: Sequence[Draws], counts: Sequence[Draws], degrees: Mapping[str, Draws]
) -> tuple[Draws, Draws]:
    """The standard error of a contrast over seeds, and its degrees of freedom."""
    by_pool: dict[str, Draws] = defaultdict(float)
    for group, variance, count in zip(groups, variances, counts):
        by_pool[group.pool] = by_pool[group.pool] + group.coefficient**2 * variance / count
    total, freedom = sum(by_pool.values()), [degrees[pool] for pool in by_pool]
    if len(freedom) < 2:
        return np.sqrt(total), freedom[0] if freedom else math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = sum((variance / total) ** 2 / degrees[pool] for pool, variance in by_pool.items())
        return np.sqrt(total), np.where(total > 0, 1 / lost, reduce(np.minimum, freedom))


def _verdict(row: Row, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The verdict of an interval that is narrow enough to have one."""
    above, below = low > row.threshold, high < row.threshold
    least, most = row.threshold - row.smallest_effect, row.threshold + row.smallest_effect
    near = (low >= least) & (high <= most)
    if row.side == "within":
        return np.select([near, (low > most) | (high < least)], [YES, NO], UNDECIDED)
    yes, no = {"above": (above, below), "below": (below, above), "differs": (above | below, above & below)}[row.side]
    return np.select([yes, no, near], [YES, NO, NO_EFFECT], UNDECIDED)


def _contrast(part: _Part, found: _Found) -> Contrast:
    row, verdict = part.row, str(found.verdict[0])
    numbers = (float(number[0]) if np.isfinite(number[0]) else None for number in found[:-1])
    estimate, error, degrees, low, high = numbers
    small = verdict == YES and row.side != "within" and abs(estimate - row.threshold) < row.smallest_effect
    said = (row.question, row.claim, row.part, row.side, row.threshold, row.smallest_effect)
    return Contrast(*said, estimate, error, degrees, low, high, part.seeds, part.covers, verdict, small)


def _more_seeds(table: _Table, parts: list[_Part], measured: list[_Measured], rule: Rule) -> Counter[str]:
    """Further seeds that decide a claim, the fewest of those tried; none where it takes more than 50.

    A part may decide alone, by no or no effect; else it takes all of them.
    """
    fewest: Counter[str] = Counter()
    known = [n for n, this in enumerate(measured) if this.variances and np.isfinite(this.variances).all()]
    for target in [known] if len(known) < 2 else [known, *([n] for n in known)]:
        most = fewest.total() or MOST_SEEDS + 1
        picks = _picks([parts[n] for n in target], [measured[n] for n in target], most)
        names = sorted({name for pick in picks for name in pick})
        added = {name: np.cumsum([0, *(name in pick for pick in picks)]) for name in names}
        more = [
            _Measured(
                np.repeat(this.estimate, len(picks) + 1),
                this.variances,
                [count + _further(group.trained, added) for count, group in zip(this.counts, part.groups)],
            )
            for part, this in zip(parts, measured)
        ]
        verdict, _ = _decide(parts, more, table.degrees(parts, added), rule)
        deciding = np.flatnonzero((verdict != UNDECIDED) & (sum(added.values()) < most))
        if len(deciding):
            fewest = +Counter({name: int(number[deciding[0]]) for name, number in added.items()})
    return fewest


def _picks(parts: list[_Part], measured: list[_Measured], most: int) -> list[tuple[str, ...]]:
    """One seed after the other: of groups that have a single one first, then where variance falls most."""
    picks: list[tuple[str, ...]] = []
    while parts and len(picks) < most:
        added, worth = Counter(name for pick in picks for name in pick), defaultdict(lambda: [False, 0.0])
        for part, this in zip(parts, measured):
            for group, variance, count in zip(part.groups, this.variances, this.counts):
                count = count + _further(group.trained, added)
                worth[group.trained][0] |= count < 2
                worth[group.trained][1] += group.coefficient**2 * variance[0] / (count * (count + 1))
        picks.append(max(worth, key=worth.__getitem__))
    return picks
