"""What is judged of bench/serve.py's figures, and the page that shows them."""
import statistics

from servers import PEERS

BATCHES = ("1", "32")
WEIGHTS_MB = 91  # of MiniLM in fp32
# Cases of serve_overload.py by what their bars are about.
CASES = {"overload": "4 times the capacity",
         "deadline": "deadlines that pass in the queue and clients that leave at once",
         "idle": "10,000 idle connections", "end": "ends under load", "swap": "swaps of the model",
         "swaps": "swaps without a pause",
         "slow": "slow clients", "bound": "what the cores' peak allows",
         "budget": "memory under `--memory-budget`"}


def best_peer(made, key):
    """The peer with the highest figure of that name; None where no peer has it."""
    found = [(figures[key], name) for name, figures in made["servers"].items()
             if name in PEERS and figures.get(key) and not figures.get("not_available")]
    return max(found)[1] if found else None


def bar(name, limit, value, against, at_least=True):
    """A bar that nothing was measured for, or that has no limit, is not judged."""
    passed = None
    if value is not None and limit is not None:
        passed = value >= limit if at_least else value <= limit
    return {"bar": name, "limit": limit, "at_least": at_least, "value": value,
            "against": against, "passed": passed}


def ratio(upper, lower):
    return upper / lower if upper and lower else None


def difference(upper, lower):
    return None if upper is None or lower is None else upper - lower


def bars(made):
    hone = made["servers"].get("hone", {})
    found = []
    for batch in BATCHES:
        peer = best_peer(made, f"within_{batch}")
        theirs = made["servers"][peer][f"within_{batch}"] if peer else None
        found.append(bar(f"texts/s at the best peer's p99, requests of {batch}", 2,
                         ratio(hone.get(f"within_{batch}"), theirs), peer))
        found.append(bar(f"saturation, requests of {batch}, of hone predict", 0.9,
                         ratio(hone.get(f"saturation_{batch}"),
                               hone.get("predict_texts_per_second")), "hone predict"))
    alone, inside = hone.get("one_connection", {}), hone.get("in_process_1", {})
    for share, limit in (("p50_ms", 0.2), ("p99_ms", 1.0)):
        found.append(bar(f"added to the call in one process, {share[:3]} in ms", limit,
                         difference(alone.get(share), inside.get(share)), "in-process call",
                         at_least=False))
    found.append(bar("/health, microseconds of processor time", 35,
                     hone.get("health_microseconds"), "", at_least=False))
    found.append(bar("start to ready, s", 0.3, hone.get("ready_seconds"), "", at_least=False))
    peers = [f["memory_bytes"] for n, f in made["servers"].items()
             if n in PEERS and f.get("memory_bytes")]
    found.append(bar("memory, of the smallest peer's", 0.3,
                     ratio(hone.get("memory_bytes"), min(peers) if peers else None),
                     "smallest peer", at_least=False))
    if case := hone.get("case_budget"):
        found.append(bar(f"memory with --memory-budget {case['budget']}, of the smallest peer's",
                         0.3, ratio(case["memory_bytes"], min(peers) if peers else None),
                         "smallest peer", at_least=False))
    return found + overload_bars(hone)


def overload_bars(hone):
    found = []
    if case := hone.get("case_overload"):
        during = case["during"]
        other = during["sent"] - sum(during["statuses"].get(s, 0) for s in ("200", "429"))
        found += [
            bar("4 times the capacity: answers that are neither 200 nor 429", 0, other, "", False),
            bar("good answers, of the capacity", 0.85,
                during["texts_per_second"] / case["capacity"], "capacity"),
            bar("429 at p99, ms", 10, during["refused"]["p99_ms"], "", False),
            bar("429 without Retry-After", 0,
                during["statuses"].get("429", 0) - during["refused_with_retry_after"], "", False),
            bar("accepted at p99, of the queue's time and two batches", 1,
                during["accepted"]["p99_ms"] / case["accepted_limit_ms"], "", False),
            bar("memory growth, MB", 64, case["memory_growth_bytes"] / 1e6, "", False),
            bar("p99 from 1 s after on, times that before", 2,
                ratio(case["after"]["accepted"]["p99_ms"], case["before"]["accepted"]["p99_ms"]),
                "before", False)]
    if case := hone.get("case_deadline"):
        late, left = case["late"], case["abandoned"]
        other = late["sent"] - sum(late["statuses"].get(s, 0) for s in ("200", "429", "504"))
        counted = case["metrics_late"].get("hone_late_total", 0)
        found += [
            bar("deadlines of 50 ms at twice the capacity: answers other than 200, 429, 504", 0,
                other, "", False),
            bar("deadlines: 504s that the metrics do not count as late", 0,
                abs(late["statuses"].get("504", 0) - counted), "hone_late_total", False),
            bar("clients that left at once, dropped before they were computed", 0.9,
                ratio(case["metrics_abandoned"].get("hone_abandoned_total"), left["abandoned"]),
                "hone_abandoned_total")]
    if case := hone.get("case_idle"):
        found.append(bar(f"{case['connections']} idle connections, MB", 80,
                         case["memory_bytes"] / 1e6, "", False))
    if case := hone.get("case_end"):
        found += [bar(f"requests lost in {case['trials']} ends under load", 0, case["lost"], "",
                      False),
                  bar("the end of an idle server, s", 0.5, case["idle_end_s"], "", False)]
    for name, limit in (("case_swap", 3), ("case_swaps", None)):
        if case := hone.get(name):
            windows, pause = case["windows"], case["pause_seconds"]
            often = f"{pause} s apart" if pause else "without a pause"
            failed = sum(one["during"]["sent"] - one["during"]["ok"] for one in windows)
            found += [bar(f"requests that failed in {case['swaps']} swaps of the model {often}", 0,
                          failed, "", False),
                      bar(f"p99 during swaps {often}, times that before, median of "
                          f"{len(windows)} windows of {case['window_seconds']} s", limit,
                          statistics.median(ratio(one["during"]["accepted"]["p99_ms"],
                                                  one["before"]["accepted"]["p99_ms"])
                                            for one in windows), "the window before", False)]
    for name, attack in hone.get("case_slow", {}).get("attacks", {}).items():
        cores = attack[0].get("attacker_cores")
        held = f", the attacker held to {cores} of a core" if cores else ""
        found.append(bar(f"p99 under a slow {name.replace('slow ', '')} attack, times that before, "
                         f"median of {len(attack)} runs", 2,
                         statistics.median(ratio(one["during"]["accepted"]["p99_ms"],
                                                 one["before"]["accepted"]["p99_ms"])
                                           for one in attack), f"before{held}", False))
    return found


def limits(made):
    """What no server can do on these cores, and what hone does in less memory."""
    hone, lines = made["servers"].get("hone", {}), []
    if case := hone.get("case_bound"):
        lines += ["", f"A text has {case['tokens_per_text']:.1f} tokens and takes at least "
                  f"{case['flops_per_text'] / 1e6:.0f} MFLOP in products; multiply-adds on "
                  f"registers reach {case['peak_flops'] / 1e9:.0f} GFLOP/s in fp32 on these cores, "
                  f"which is {case['texts_per_second']:.0f} texts/s if nothing else is done."]
        for batch in BATCHES:
            peer = best_peer(made, f"within_{batch}")
            twice = 2 * made["servers"][peer][f"within_{batch}"] if peer else 0
            if twice > case["texts_per_second"]:
                lines[-1] += (f" Twice {peer} in requests of {batch} would be {twice:.0f}: fp32 "
                              "has no room for that bar here.")
    if case := hone.get("case_budget"):
        lines += ["", f"MiniLM's weights alone are {WEIGHTS_MB} MB in fp32. With "
                  f"`--memory-budget {case['budget']}`, which reads them layer by layer, the server "
                  f"has {case['memory_bytes'] / 1e6:.0f} MB, one connection waits "
                  f"{case['one_connection']['p50_ms']:.3g} ms (p99 "
                  f"{case['one_connection']['p99_ms']:.3g}), and 64 get "
                  f"{case['texts_per_second']:.0f} texts/s."]
    return lines


def not_measured(hone):
    """Names the bars that are missing, with the option that measures them."""
    missing = [f"{about} (`--overload {name}`)" for name, about in CASES.items()
               if not hone.get(f"case_{name}")]
    return ["", f"Not measured here: {', '.join(missing)}."] if missing else []


def shown(value, form=".3g"):
    return "" if value is None else format(value, form)


def row(name, figures):
    if figures.get("not_available"):
        return f"| {name} | not available: {figures['not_available']} |" + " |" * 9
    one = figures.get("one_connection", {})
    memory = figures.get("memory_bytes")
    cells = [shown(figures.get("ready_seconds")), shown(memory and memory / 1e6, ".0f"),
             shown(one.get("p50_ms")), shown(one.get("p99_ms"))]
    for batch in BATCHES:
        cells += [shown(figures.get(f"saturation_{batch}"), ".0f"),
                  shown(figures.get(f"within_{batch}"), ".0f"),
                  shown(figures.get(f"within_limit_ms_{batch}"))]
    return f"| {name} | {' | '.join(cells)} |"


def page(made):
    lines = [
        "# hone serve beside other servers", "",
        f"{made['date']}, {made['processor']}, {made['cores']} cores "
        f"({', '.join(made['instruction_sets'])}), {made['system']}; made by "
        f"`{made['command'].strip()}`.", "",
        f"MiniLM classifier in fp32, {made['texts']}; each server in turn on all cores, which the "
        "generator of load shares; every answer was first held to hone predict's within 1e-4. The "
        "load is open-loop and Poisson, timed from the intended moment of sending. The p99 limit "
        f"is the best peer's at {made['loaded_share']:.0%} of its saturation, the same for all; "
        "texts/s within it by bisection. Memory is the proportional set size of all processes.",
        "",
        "| server | ready s | MB | 1 connection p50 ms | p99 | texts/s saturated | within p99 "
        "| limit ms | in 32s: saturated | within p99 | limit ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    lines += [row(name, figures) for name, figures in made["servers"].items()]
    hone = made["servers"].get("hone", {})
    if inside := hone.get("in_process_1"):
        lines += ["", f"A call in one process takes {inside['p50_ms']:.3g} ms (p99 "
                  f"{inside['p99_ms']:.3g}); `hone predict` answers "
                  f"{shown(hone.get('predict_texts_per_second'), '.0f')} texts/s."]
    lines += limits(made)
    lines += ["", "| bar | | limit | measured | against | |", "|---|---|--:|--:|---|---|"]
    for one in made["bars"]:
        verdict = {True: "pass", False: "**missed**"}.get(
            one["passed"], "not measured" if one["value"] is None else "")
        lines.append(f"| {one['bar']} | {'at least' if one['at_least'] else 'at most'} "
                     f"| {shown(one['limit'], 'g')} | {shown(one['value'])} | {one['against'] or ''} "
                     f"| {verdict} |")
    lines += not_measured(hone)
    lines += [""] + [f"{name}: {figures['version']}; settings "
                     f"{figures.get('settings', 'as installed')}." + "\n"
                     for name, figures in made["servers"].items() if figures.get("version")]
    return "\n".join(lines) + "\n"
