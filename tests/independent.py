"""Recomputes what kp says of a linear model, from the documentation alone.

    independent.py rows            a CSV of rows of three shops
    independent.py CHECK ...       fails, with a message, if kp is wrong

Run by independent.bats.  Reads CSV files that kp-predict wrote, files
show.SHOP by kp-select --json --show, and trial records; plain python.
"""

import csv
import json
import math
import random
import sys

NUMERIC = ("age", "income")
CATEGORY = "colour"
MISSING = ("", "NA")
INTERCEPT = ("(intercept)", None, False)


def die(text):
    sys.exit("independent.py: " + text)


def near(what, got, want, tolerance):
    if not abs(got - want) <= tolerance * max(1, abs(want)):
        die(f"{what}: kp has {got!r}, by hand {want!r}")


# --- input ---

def make_rows():
    """Shop A has 60 rows, B 120, C 200; C never misses an age.  Incomes are
    few, so that predictions tie; some weights are 0."""
    draw = random.Random(7).random
    print("id,shop,age,income,colour,w,late,amount")
    for i in range(380):
        shop = "A" if i < 60 else "B" if i < 180 else "C"
        age, income = 20 + int(draw() * 12) * 4, 1000 * int(1 + draw() * 4)
        colour = ("red", "green", '"blue, dark"')[int(draw() * 3)]
        z = (age - 42) / 8 - income / 2000 + (colour == "red") + 4 * draw() - 1
        late, amount = "yes" if z > 0 else "no", round(30 * z + age, 3)
        if shop != "C" and draw() < .15:
            age = "NA"
        if draw() < .1:
            income = ""
        if draw() < .15:
            colour = ""
        w = 0 if i % 41 == 5 else .25 * int(1 + draw() * 12)
        print(i, shop, age, income, colour, w, late, amount, sep=",")


def read_rows(path):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    if not rows:
        die(f"{path} has no rows")
    return rows


def by_shop(path):
    shops = {}
    for row in read_rows(path):
        shops.setdefault(row["shop"], []).append(row)
    return shops


def read_lines(path):
    """Objects by group; of trial records, the last one of each."""
    with open(path) as f:
        return {o["group"]: o for o in map(json.loads, f)}


def label(row, task):
    return float(row["amount"]) if task == "linear" else row["late"] == "yes"


# --- the model, on the raw scale and as it was trained ---

class Moments:
    """Mean and deviation of the numeric columns, unweighted, over the
    training rows that have a value."""

    def __init__(self, rows):
        self.mean, self.sd = {}, {}
        for c in NUMERIC:
            x = [float(r[c]) for r in rows if r[c] not in MISSING]
            self.mean[c] = math.fsum(x) / len(x)
            self.sd[c] = math.sqrt(
                math.fsum((v - self.mean[c]) ** 2 for v in x) / len(x))


def slots_of(rows):
    """What has a coefficient, as kp-select --show names it."""
    slots = [INTERCEPT] + [(c, None, False) for c in NUMERIC]
    for c in (*NUMERIC, CATEGORY):
        if any(r[c] in MISSING for r in rows):
            slots.append((c, None, True))
    values = {r[CATEGORY] for r in rows} - set(MISSING)
    return slots + [(CATEGORY, v, False) for v in sorted(values)]


def read_show(shop):
    with open("show." + shop) as f:
        lines = [json.loads(line) for line in f]
    return {(o["feature"], o["value"], o["missing"]): o["coefficient"]
            for o in lines}


def raw_margin(row, coef, moments):
    z = coef[INTERCEPT]
    for c in NUMERIC:
        missing = row[c] in MISSING
        if missing and (c, None, True) in coef:
            z += coef[c, None, True]
        else:
            x = moments.mean[c] if missing else float(row[c])
            z += coef[c, None, False] * x
    missing = row[CATEGORY] in MISSING
    value = None if missing else row[CATEGORY]
    return z + coef.get((CATEGORY, value, missing), 0)


def standard_row(row, slots, moments):
    """{slot: x}, the features that training saw."""
    x = {INTERCEPT: 1.0}
    for c in NUMERIC:
        if row[c] in MISSING:
            x[c, None, True] = 1.0
        else:
            x[c, None, False] = (float(row[c]) - moments.mean[c]) / moments.sd[c]
    missing = row[CATEGORY] in MISSING
    x[CATEGORY, None if missing else row[CATEGORY], missing] = 1.0
    return {s: v for s, v in x.items() if s in slots}


def standardised(coef, moments):
    w = dict(coef)
    for c in NUMERIC:
        shift = coef[c, None, False] * moments.mean[c]
        w[INTERCEPT] += shift
        w[c, None, False] *= moments.sd[c]
        if (c, None, True) in w:
            w[c, None, True] -= shift
    return w


def raw(w, moments):
    coef = dict(w)
    for c in NUMERIC:
        coef[c, None, False] /= moments.sd[c]
        shift = coef[c, None, False] * moments.mean[c]
        coef[INTERCEPT] -= shift
        if (c, None, True) in coef:
            coef[c, None, True] += shift
    return coef


def mean_of(task, z):
    return z if task == "linear" else 1 / (1 + math.exp(-z))


def loss_of(task, z, y):
    if task == "linear":
        return (z - y) ** 2 / 2
    return max(0, -z if y else z) + math.log1p(math.exp(-abs(z)))


def loss_and_gradient(task, rows, w, moments):
    """Of the weighted mean loss, without penalties."""
    total = math.fsum(float(r["w"]) for r in rows)
    losses, gradient = [], {s: [] for s in w}
    for r in rows:
        x, y, weight = standard_row(r, w, moments), label(r, task), float(r["w"])
        z = math.fsum(w[s] * v for s, v in x.items())
        losses.append(weight * loss_of(task, z, y))
        for s, v in x.items():
            gradient[s].append(weight * (mean_of(task, z) - y) * v)
    return (math.fsum(losses) / total,
            {s: math.fsum(g) / total for s, g in gradient.items()})


# --- checks ---

def check_predictions(task, scored):
    """Every prediction is what the coefficients of --show say."""
    train = by_shop("train.csv")
    for shop, rows in by_shop(scored).items():
        coef, moments = read_show(shop), Moments(train[shop])
        for r in rows:
            want = mean_of(task, raw_margin(r, coef, moments))
            near(f"row {r['id']}", float(r["prediction"]), want, 1e-9)


def check_optimum(task, trials, l2, l1):
    """The objective is right, and the model is at its minimum."""
    l2, l1, zeros = float(l2), float(l1), 0
    trials = read_lines(trials)
    for shop, rows in by_shop("train.csv").items():
        coef, moments = read_show(shop), Moments(rows)
        if sorted(map(str, coef)) != sorted(map(str, slots_of(rows))):
            die(f"shop {shop}: coefficients of {sorted(map(str, coef))}")
        w = standardised(coef, moments)
        loss, gradient = loss_and_gradient(task, rows, w, moments)
        penalised = [v for s, v in w.items() if s != INTERCEPT]
        objective = (loss + l2 / 2 * math.fsum(v * v for v in penalised)
                     + l1 * math.fsum(map(abs, penalised)))
        near(f"shop {shop}: loss", trials[shop]["loss"], loss, 1e-9)
        near(f"shop {shop}: objective", trials[shop]["objective"],
             objective, 1e-9)
        for s, v in w.items():
            slope = subgradient(s, v, gradient[s], l2, l1)
            near(f"shop {shop}: slope along {s}", slope, 0, 1e-7)
            zeros += abs(v) < 1e-12
    if l1 > 0 and not zeros:
        die("no weight is 0: nothing was tested")


def subgradient(slot, weight, slope, l2, l1):
    """The one of least magnitude.  A weight of 0 has lost its exactness on
    the way over the raw scale."""
    if slot == INTERCEPT:
        return slope
    if abs(weight) < 1e-12:
        return max(0, abs(slope) - l1)
    return slope + l2 * weight + math.copysign(l1, weight)


def check_normal_equations(l2):
    """The coefficients are those of the normal equations.  The colour may
    have been dropped."""
    for shop, rows in by_shop("train.csv").items():
        coef, moments = read_show(shop), Moments(rows)
        slots = [s for s in slots_of(rows) if s in coef]
        if len(slots) != len(coef):
            die(f"shop {shop}: coefficients of {sorted(map(str, coef))}")
        w = solve(*normal_equations(rows, slots, moments, float(l2)))
        want = raw(dict(zip(slots, w)), moments)
        for s in slots:
            near(f"shop {shop}: {s}", coef[s], want[s], 1e-6)


def normal_equations(rows, slots, moments, l2):
    n, total = len(slots), math.fsum(float(r["w"]) for r in rows)
    a = [[0.0] * n for _ in slots]
    b = [0.0] * n
    for r in rows:
        x = standard_row(r, slots, moments)
        x = [x.get(s, 0.0) for s in slots]
        for i in range(n):
            share = float(r["w"]) / total * x[i]
            b[i] += share * label(r, "linear")
            for j in range(n):
                a[i][j] += share * x[j]
    for i, s in enumerate(slots):
        a[i][i] += 0 if s == INTERCEPT else l2
    return a, b


def solve(a, b):
    """Gaussian elimination with row pivots."""
    a, n = [row + [v] for row, v in zip(a, b)], len(b)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[pivot] = a[pivot], a[k]
        for i in range(n):
            if i != k:
                f = a[i][k] / a[k][k]
                a[i] = [u - f * v for u, v in zip(a[i], a[k])]
    return [a[i][n] / a[i][i] for i in range(n)]


def check_metrics(task, selected):
    """The metrics of kp-select are those of the hold-out predictions."""
    selected, ties = read_lines(selected), 0
    for shop, rows in by_shop("holdout.csv").items():
        triples = [(float(r["prediction"]), label(r, task), float(r["w"]))
                   for r in rows]
        if selected[shop]["holdout_rows"] != len(rows):
            die(f"shop {shop}: {selected[shop]['holdout_rows']} hold-out rows")
        want = errors_of(triples)
        if task == "logistic":
            want.update(ranks_of(triples))
        for name, got in selected[shop]["metrics"].items():
            if name in want:
                near(f"shop {shop}: {name}", got, want[name], 1e-12)
            elif got is not None:
                die(f"shop {shop}: {name} is {got}")
        ties += tied(triples)
    if task == "logistic" and not ties:
        die("no tie among the predictions: nothing was tested")


def weighted_mean(values):
    values = list(values)
    return (math.fsum(w * v for v, w in values)
            / math.fsum(w for v, w in values))


def errors_of(triples):
    square = weighted_mean(((p - y) ** 2, w) for p, y, w in triples)
    mean = weighted_mean((y, w) for p, y, w in triples)
    return {
        "rmse": math.sqrt(square),
        "mae": weighted_mean((abs(p - y), w) for p, y, w in triples),
        "r2": 1 - square / weighted_mean(
            ((y - mean) ** 2, w) for p, y, w in triples),
    }


def ranks_of(triples):
    """Those of a binary label; AUC by all pairs."""
    up = [(p, w) for p, y, w in triples if y]
    down = [(p, w) for p, y, w in triples if not y]
    pairs = [((p > q) + (p == q) / 2, v * w) for p, v in up for q, w in down]
    return {
        "logloss": weighted_mean(
            (-math.log(p if y else 1 - p), w) for p, y, w in triples),
        "accuracy": weighted_mean(((p >= .5) == y, w) for p, y, w in triples),
        "brier": weighted_mean(((p - y) ** 2, w) for p, y, w in triples),
        "auc": weighted_mean(pairs),
    }


def tied(triples):
    """Predictions that a positive and a negative row share."""
    return len({p for p, y, w in triples if y}
               & {p for p, y, w in triples if not y})


def main():
    checks = {
        "rows": make_rows,
        "predictions": check_predictions,
        "optimum": check_optimum,
        "normal-equations": check_normal_equations,
        "metrics": check_metrics,
    }
    checks[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
