"""Draws the training losses of gp and nanoGPT over seconds as an SVG that is readable on light and on dark paper."""
import math
import statistics

WIDTH, HEIGHT = 960, 520
LEFT, RIGHT, TOP, BOTTOM = 64, 110, 84, 48
SMOOTHED = 25  # points of a moving mean
POINTS_MAX = 240  # of a drawn curve
LOSS_MAX = 3.4

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328;
         paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
  .title { font-size: 18px; font-weight: 600; }
  .small { font-size: 11px; fill: #59636e; }
  .paper { fill: #ffffff; }
  .grid { stroke: #e4e8ec; }
  .axis { stroke: #8c959f; }
  .goal { stroke: #59636e; stroke-dasharray: 5 4; }
  .ours, .peer { fill: none; stroke-width: 2; }
  .ours { stroke: #0a58ca; }
  .peer { stroke: #b35900; }
  .end { stroke: none; }
  .end.ours { fill: #0a58ca; }
  .end.peer { fill: #b35900; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; stroke: #0d1117; }
    .small { fill: #9aa4af; }
    .paper { fill: #0d1117; }
    .grid { stroke: #21262d; }
    .axis { stroke: #6e7681; }
    .goal { stroke: #9aa4af; }
    .ours { stroke: #6ea8fe; }
    .peer { stroke: #f0a35e; }
    .end.ours { fill: #6ea8fe; }
    .end.peer { fill: #f0a35e; }
  }
"""


def smoothed(curve):
    """The mean loss of a window of points that ends at each one."""
    smooth = []
    for index, (seconds, _) in enumerate(curve):
        window = curve[max(0, index - SMOOTHED + 1):index + 1]
        smooth.append([seconds, statistics.fmean(loss for _, loss in window)])
    return smooth


def few(curve):
    step = max(1, math.ceil(len(curve) / POINTS_MAX))
    return curve[::step] + ([curve[-1]] if (len(curve) - 1) % step else [])


def thinned(result):
    """The result with curves as short as they are drawn."""
    def thin(runs):
        return [{**run, "curve": [[round(x, 3), round(y, 4)] for x, y in few(smoothed(run["curve"]))]} for run in runs]
    return {**result, "ours": thin(result["ours"]), "peers": thin(result["peers"])}


def nice_step(span, most):
    """The smallest of 1, 2, 5 times a power of ten that cuts `span` into at most `most` parts."""
    power = 10 ** math.floor(math.log10(span / most))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= most)


class Paper:
    def __init__(self, seconds, loss_min):
        self.seconds = seconds
        self.loss_min = loss_min
        self.parts = []

    def x(self, seconds):
        return LEFT + seconds / self.seconds * (WIDTH - LEFT - RIGHT)

    def y(self, loss):
        share = (min(loss, LOSS_MAX) - self.loss_min) / (LOSS_MAX - self.loss_min)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def text(self, kind, x, y, words, anchor="start"):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>')

    def line(self, kind, x1, y1, x2, y2):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def curve(self, kind, curve):
        points = " ".join(f"{self.x(seconds):.1f},{self.y(loss):.1f}" for seconds, loss in curve if loss <= LOSS_MAX)
        self.parts.append(f'<polyline class="{kind}" points="{points}"/>')

    def axes(self):
        step = nice_step(self.seconds, 10)
        for index in range(int(self.seconds / step) + 1):
            self.text("small", self.x(index * step), HEIGHT - BOTTOM + 18, f"{index * step:g}", "middle")
        self.text("small", self.x(self.seconds / 2), HEIGHT - 10, "seconds", "middle")
        loss = math.ceil(self.loss_min * 5) / 5
        while loss <= LOSS_MAX + 1e-9:
            self.line("grid", LEFT, self.y(loss), WIDTH - RIGHT, self.y(loss))
            self.text("small", LEFT - 8, self.y(loss) + 4, f"{loss:.1f}", "end")
            loss += 0.2
        self.line("axis", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM)

    def svg(self, title):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
                f'role="img">\n<title>{title}</title>\n<style>{STYLE}</style>\n'
                f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def draw_runs(paper, kind, name, runs):
    """The middle run's curve, and a dot for each run: when it ended, and the loss of its weights on the validation split."""
    middle = sorted(runs, key=lambda run: run["wall_seconds"])[len(runs) // 2]
    paper.curve(kind, few(smoothed(middle["curve"])))
    for run in runs:
        x, y = paper.x(run["wall_seconds"]), paper.y(run["validation_loss"])
        paper.parts.append(f'<circle class="end {kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    wall = statistics.median(run["wall_seconds"] for run in runs)
    loss = statistics.fmean(run["validation_loss"] for run in runs)
    anchor, x = ("end", paper.x(paper.seconds)) if wall > paper.seconds / 2 else ("start", paper.x(wall) + 10)
    paper.text("", x, paper.y(loss) - 26, name, anchor)
    paper.text("small", x, paper.y(loss) - 12, f"{wall:.1f} s, validation loss {loss:.4f}", anchor)


def draw(result, goal):
    seconds = max(run["wall_seconds"] for run in result["ours"] + result["peers"]) * 1.02
    ends = [run["validation_loss"] for run in result["ours"] + result["peers"]]
    drawn = [loss for run in result["ours"] + result["peers"] for _, loss in smoothed(run["curve"])[SMOOTHED:]]
    paper = Paper(seconds, min([*ends, *drawn, goal]) - 0.05)
    title = "Loss over seconds: nanoGPT's CPU model and data"
    paper.text("title", 24, 34, title)
    paper.text("small", 24, 54, f"{result['machine']}, {result['date']}. Lines: training loss, mean of {SMOOTHED} steps.")
    paper.text("small", 24, 70, "Dots: the end of each run, with its loss on the whole validation split.")
    paper.axes()
    paper.line("goal", LEFT, paper.y(goal), WIDTH - RIGHT, paper.y(goal))
    paper.text("small", WIDTH - RIGHT + 8, paper.y(goal) + 4, f"{goal}, the goal")
    draw_runs(paper, "peer", f"nanoGPT on torch ({result['peer_way']})", result["peers"])
    draw_runs(paper, "ours", "gp", result["ours"])
    return paper.svg(title)
