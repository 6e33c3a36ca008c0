"""The bars of the CPU benchmark and the Markdown page about a run; used by run.py."""


def pick(made, case, dtype=None, hone=False):
    return [row for row in made["rows"] if row["case"] == case and (row["peer"] == "hone") == hone
            and (dtype is None or row["dtype"] == dtype)]


def judge(made, what, hone_case, peer_case, limit, by_rate, dtype="fp32"):
    """One bar against the best peer in `dtype`; passed is None where it cannot be judged."""
    bar = {"bar": what, "limit": limit, "ratio": None, "rival": "", "passed": None}
    mine, theirs = pick(made, hone_case, hone=True), pick(made, peer_case, dtype)
    if not mine or not theirs:
        return {**bar, "why": "hone was not measured" if not mine else "no peer was measured"}
    if hone_case.endswith("bf16") and "amx_bf16" not in made["instruction_sets"]:
        return {**bar, "why": "the processor has no AMX"}
    if by_rate and not made["real_sst2_lengths"]:
        return {**bar, "why": "hone's lengths were drawn, not SST-2's"}
    best = min(theirs, key=lambda row: row["median_ms"])
    if by_rate:
        bar["ratio"] = mine[0]["per_second"] / best["per_second"]
        bar["passed"] = bar["ratio"] >= limit
    else:
        bar["ratio"] = mine[0]["median_ms"] / best["median_ms"]
        bar["passed"] = bar["ratio"] <= limit
    bar["rival"] = best["peer"]
    return bar


def bars(made):
    bf16 = 0.3 if "amx_bf16" in made["instruction_sets"] else 0.35
    found = [
        judge(made, "b1 len32 latency, at most", "b1-len32", "b1-len32", 0.8, False),
        judge(made, "b1 len128 latency, at most", "b1-len128", "b1-len128", 1.0, False),
        judge(made, "SST-2 b32 against padded, at least", "sst2-b32", "sst2-b32", 1.9, True),
        judge(made, "SST-2 b32 against sorted, at least", "sst2-b32", "sst2-b32-sorted", 1.1, True),
        judge(made, "bf16 b1 len128 latency, at most", "b1-len128-bf16", "b1-len128", bf16, False),
    ]
    int8 = 0.4 if "amx_int8" in made["instruction_sets"] else 0.8
    for case in ("b1-len32", "b1-len128"):
        found.append(judge(made, f"int8 {case.replace('-', ' ')} latency, at most",
                           f"{case}-int8", case, int8, False, "int8"))
    found.append(judge(made, "int8 SST-2 b32 against padded, at least", "sst2-b32-int8", "sst2-b32",
                       3, True, "int8"))
    for row in pick(made, "minilm-start", hone=True):
        found.append({"bar": "MiniLM start to answer in s, at most", "limit": 0.15, "rival": "",
                      "ratio": row["median_ms"] / 1e3, "passed": row["median_ms"] < 150})
        over = (row["peak_rss_bytes"] - row["weights_bytes"]) / 1e6
        found.append({"bar": "MiniLM peak memory over its weights in MB, at most", "limit": 25,
                      "rival": "", "ratio": over, "passed": over < 25})
    return found


def number(row, key, form, scale=1):
    return format(row[key] * scale, form) if row.get(key) is not None else ""


def page(made):
    lines = [
        "# CPU benchmark", "",
        f"{made['processor']}, {made['cores']} cores, {made['threads']} threads; "
        f"{', '.join(made['instruction_sets'])}; {made['system']}; {made['hone']}; {made['date']}.",
        "", f"Made by `{made['command'].strip()}`. BERT-base shape, random weights, two labels, "
        "from token ids to logits; hone and the peers in turns, median of "
        f"{made['rounds']} rounds' medians. Peers pad each batch of 32 to its longest sentence and "
        "were warmed on every shape.", "",
        "| case | who | dtype | median ms | p10 | p90 | sentences/s | GFLOP/s | of peak | RSS MB |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in made["rows"]:
        who = row["peer"] if row["peer"] == "hone" else row.get("version", row["peer"])
        who = f"{who}, compiled" if "compile" in row["peer"] else who
        lines.append(
            f"| {row['case']} | {who} | {row['dtype']} | {row['median_ms']:.2f} "
            f"| {row['p10_ms']:.2f} | {row['p90_ms']:.2f} | {number(row, 'per_second', '.1f')} "
            f"| {number(row, 'gflops', '.1f')} | {number(row, 'share_of_peak', '.0%')} "
            f"| {number(row, 'peak_rss_bytes', '.1f', 1e-6)} |")
    lines += ["", "| bar | limit | measured | against | |", "|---|--:|--:|---|---|"]
    for bar in made["bars"]:
        verdict = {True: "pass", False: "**missed**", None: f"not judged: {bar.get('why')}"}
        measured = "" if bar["ratio"] is None else f"{bar['ratio']:.3g}"
        lines.append(f"| {bar['bar']} | {bar['limit']:g} | {measured} | {bar['rival']} "
                     f"| {verdict[bar['passed']]} |")
    for name, reason in made["not_measured"].items():
        lines += ["", f"Not measured: {name} ({reason})."]
    return "\n".join(lines) + "\n"
