"""Figures of a run: value, limit, bar, and whether it is met; as a table and as JSON."""


def text(value):
    """The number for a table: whole from 100 on, else with up to three decimals, and below 0.01 with one significant digit; None: empty."""
    if value is None:
        return ""
    for digits, least in ((0, 100), (1, 10), (2, 0.1), (3, 0.01)):
        if abs(value) >= least or value == 0:
            return f"{value:,.{digits if value else 0}f}"
    return f"{value:.1g}"


class Figure:
    """One row. at_least and at_most bound the value; of_limit is the least ratio of the value to `limit`, which was measured in the same run.
    bar: the text of the bar, if not the one that follows from these. met: None if there is no bar."""

    def __init__(self, benchmark, name, value, unit, bar, at_least, at_most, of_limit, limit, limit_name):
        self.benchmark, self.name, self.value, self.unit = benchmark, name, value, unit
        self.limit, self.limit_name = limit, limit_name
        self.ratio = value / limit if limit else None
        self.bar = bar or " and ".join(
            word for word in (at_least is not None and f"≥ {text(at_least)}", at_most is not None and f"≤ {text(at_most)}",
                              of_limit is not None and f"≥ {of_limit:.0%} of limit") if word)
        judged = [held for bound, held in ((at_least, lambda: value >= at_least), (at_most, lambda: value <= at_most),
                                           (of_limit, lambda: self.ratio is not None and self.ratio >= of_limit)) if bound is not None]
        self.met = all(held() for held in judged) if judged else None

    def json(self):
        return {key: value for key, value in self.__dict__.items() if key != "benchmark"}

    def row(self, judge):
        verdict = {True: "met", False: "missed", None: ""}[self.met if judge else None]
        limit = f"{text(self.limit)} {self.limit_name or ''}".strip()
        ratio = f"{self.ratio:.0%}" if self.ratio is not None else ""
        return self.benchmark, self.name, f"{text(self.value)} {self.unit}".strip(), limit, ratio, self.bar, verdict


def table(figures, judge):
    """Lines of text, one for each figure."""
    rows = [("benchmark", "figure", "value", "limit", "ratio", "bar", ""), *(figure.row(judge) for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(word.rjust(width) if i in (2, 4) else word.ljust(width) for i, (word, width) in enumerate(zip(row, widths))).rstrip()
             for row in rows]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]
