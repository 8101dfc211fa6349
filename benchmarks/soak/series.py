"""Whether a series of measurements grows: a slope with an interval, and what it could have shown.

The slope is that of least squares, one for all segments of a row with a level of its own for each. A segment is what one
process lived, so that a new process does not look like a leak that was mended. What enters are medians of blocks of
samples, which a single stall does not move. Neighbours are alike, and as many of them as of independent ones say less:
the interval is Student's with so many degrees of freedom as independent measurements would have had, by the
autocorrelation of what the line leaves over.
"""

import dataclasses
import math
import statistics

#: Confidence of all intervals of a report together; each has its share of the rest.
CONFIDENCE = 0.95
#: What a row may grow by in an hour, and in the whole run, as parts of its mean. The smaller rate of the two counts.
LIMIT_OF_HOUR, LIMIT_OF_RUN = 0.01, 0.05
#: With this probability a growth of the size that is called "least seen" is found.
POWER = 0.8


def limit(hours):
    """The growth per hour, as a part of the mean, above which a run of so many hours calls a row growing."""
    return min(LIMIT_OF_HOUR, LIMIT_OF_RUN / hours) if hours > 0 else LIMIT_OF_HOUR


def student(probability, freedom):
    """The quantile of Student's distribution: with t = √f · tan a, the density of a is cos(a) to the power of f − 1."""
    if freedom > 500:
        return statistics.NormalDist().inv_cdf(probability)
    steps = 4000
    width = math.pi / 2 / steps
    heights = [math.cos((step + 0.5) * width) ** (freedom - 1) for step in range(steps)]
    wanted, reached = (probability - 0.5) * 2 * sum(heights), 0.0
    for step, height in enumerate(heights):
        if reached + height >= wanted:
            return math.sqrt(freedom) * math.tan((step + (wanted - reached) / height) * width)
        reached += height
    return math.inf


class Blocks:
    """Medians of blocks of one row, segment by segment. Takes samples one after another and keeps the medians alone.
    Of files, which grow and are folded again and again, `choose` takes the largest size of each block."""

    def __init__(self, seconds, choose=statistics.median):
        self.seconds, self.choose, self.segments, self.block, self.open = seconds, choose, {}, None, []

    def add(self, segment, time, value):
        """A value at so many seconds after the start."""
        block = (segment, int(time // self.seconds))
        if block != self.block:
            self.close()
            self.block = block
        self.open.append((time, value))

    def close(self):
        """Ends the block that is open."""
        if self.open:
            times, values = zip(*self.open)
            self.segments.setdefault(self.block[0], []).append((statistics.fmean(times), self.choose(values)))
        self.open = []

    def taken(self):
        """All segments in which a line can be seen: three blocks at least."""
        self.close()
        return [points for points in self.segments.values() if len(points) >= 3]


@dataclasses.dataclass
class Trend:
    """What a row does in an hour, in its own unit; `low` and `high` are None where there is too little to say."""

    mean: float
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    #: The growth that would have been found with the probability `POWER`.
    seeable: float | None = None
    blocks: int = 0
    segments: int = 0

    def verdict(self, allowed, hours):
        """`grows` where even the lower bound is beyond what is allowed, a part of the mean per hour. Where a row could
        have doubled within these hours without being seen, nothing is said of it."""
        if self.low is None:
            return "undecided"
        if self.low > allowed * abs(self.mean):
            return "grows"
        return "flat" if self.seeable * hours <= abs(self.mean) or self.seeable == 0 else "undecided"


def autocorrelation(residuals):
    """That of neighbours, which a fitted line makes look smaller than it is by about (2 + 4r) / n."""
    squares = sum(each * each for row in residuals for each in row)
    if squares == 0:
        return 0.0
    found = sum(one * next for row in residuals for one, next in zip(row, row[1:])) / squares
    count = sum(map(len, residuals))
    return min(0.99, max(0.0, found + (2 + 4 * found) / count))


def trend(segments, rows, allowed):
    """The trend of a row, of `rows` rows that are judged together. Times are in seconds."""
    points = [point for segment in segments for point in segment]
    if not points:
        return Trend(mean=0.0)
    mean = statistics.fmean(value for _, value in points)
    centred = []
    for segment in segments:
        time, level = (statistics.fmean(column) for column in zip(*segment))
        centred.append([((at - time) / 3600, value - level) for at, value in segment])
    spread = sum(at * at for segment in centred for at, _ in segment)
    slope = sum(at * value for segment in centred for at, value in segment) / spread
    residuals = [[value - slope * at for at, value in segment] for segment in centred]
    alike = autocorrelation(residuals)
    freedom = len(points) * (1 - alike) / (1 + alike) - len(segments) - 1
    found = Trend(mean, slope, blocks=len(points), segments=len(segments))
    if freedom >= 1:
        error = math.sqrt(sum(each * each for row in residuals for each in row) / freedom / spread)
        wide = student(1 - (1 - CONFIDENCE) / 2 / rows, freedom)
        found.low, found.high = slope - wide * error, slope + wide * error
        found.seeable = allowed * abs(mean) + (wide + student(POWER, freedom)) * error
    return found
