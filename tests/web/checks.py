"""What a report can do, each in a check of its own."""
import csv
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

from pages import HERE, NARROW, check_layout

RECORDS = HERE / "records"
HOSTILE = ["<img src=x onerror='window.broken = 1'>", "</script><script>window.broken = 1</script>",
           "<!--<script>", "\u2028window.broken = 1\u2029", "\"'><svg onload=window.broken=1>", "&lt;b&gt; & %s {0}",
           "a name that is so long that no picture has room for it, " * 4, "$\\frac{1}{2}$ #_^~{}", "日本 é \U0001f600"]


def make(hone, folder, html, *options):
    subprocess.run([hone, "report", folder, "--html", html, *options], check=True, capture_output=True, timeout=60)
    return html


def tables_of(page):
    """Every table of the page by its title, as the script's absence leaves it."""
    return page.evaluate("""() => [...document.querySelectorAll("table")].map((table) => [table.caption.textContent,
      [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))])""")


def check_still(browser, hone, scratch, _):
    """Without scripts all pictures and tables are there, and on paper, too."""
    html = make(hone, RECORDS / "runs", scratch / "still.html")
    with browser.page(scripts=False) as opened:
        page = opened.open(html, pictures=False)
        still = page.locator("figure .broad > svg")
        pictures = still.count()
        assert pictures > 5 and all(still.nth(i).bounding_box()["height"] > 50 for i in range(pictures))
        opened.check_quiet()
    with browser.page() as opened:
        page = opened.open(html)
        hidden = page.locator("figure.enlivened .broad > svg")
        assert hidden.count() == 2 and hidden.first.bounding_box() is None
        page.emulate_media(media="print", color_scheme="dark")
        assert hidden.first.bounding_box()["height"] > 50
        assert page.locator(".plot").first.bounding_box() is None
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb(255, 255, 255)", f"paper is printed {paper}"
        drawn = page.evaluate("getComputedStyle(document.querySelector('.hone-chart .paper')).fill")
        assert drawn == "rgb(255, 255, 255)", f"pictures are printed on {drawn}"
    return f"{pictures} pictures without scripts; dark pages print on white"


def check_hostile(browser, hone, scratch, _):
    """Names are texts wherever they come from, and the policy keeps other scripts from running."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-", dir=scratch))
    for i, name in enumerate(HOSTILE):
        run = folder / "".join(c for c in name[:60] if c != "/")
        run.mkdir(exist_ok=True)
        log = [{"step": step, name: step * (i + 1), "loss": 1 / step} for step in range(1, 601)]
        (run / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
        (run / "all_results.json").write_text(json.dumps({name: i, "text": name}))
        op = {"name": name, "layer": name, "self_s": 1, "share": 1 / len(HOSTILE)}
        (run / "profile.json").write_text(json.dumps(
            {"wall_s": 1, "stages": {"other": {name: 1}}, "ops": [op], "layers": [op], "memory": {name: 1e6}}))
        (run / "records.jsonl").write_text(json.dumps(
            {"study": name, "case": {name: name}, "machine": {"processor": name}, "metrics": {name: 1}}) + "\n")
    html = make(hone, folder, scratch / "hostile.html", "--latex", scratch / "hostile.tex")
    for width in 1100, NARROW:
        with browser.page(width) as opened:
            page = opened.open(html)
            check_layout(page, width)
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            page.wait_for_timeout(300)
            assert page.locator("img, svg [onload]").count() == 0, "a name became markup"
            texts = page.evaluate("document.body.textContent")
            assert all(name in texts for name in HOSTILE[:3]), "a name is not shown as it is"
            if width == NARROW:
                browser.check_accessible(page)
            assert page.evaluate("window.broken") is None, "a name ran as a script"
            opened.check_quiet()
    with browser.page() as opened:
        page = opened.open(html)
        refused = []
        page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
        page.evaluate("""() => { const script = document.createElement("script"); script.textContent = "window.broken = 1";
          document.body.append(script); const image = new Image(); image.src = "http://127.0.0.1:9/x"; document.body.append(image); }""")
        page.wait_for_timeout(200)
        assert page.evaluate("window.broken") is None and len(opened.complaints) >= 2, opened.complaints
        assert len(refused) == 1 and refused[0][1] == "csp", refused
    shutil.rmtree(folder)
    return f"{len(HOSTILE)} hostile names in runs, profiles and studies; other scripts and images are refused"


def column(page, title, number):
    return page.evaluate("""([title, number]) => [...[...document.querySelectorAll("table")]
      .find((table) => table.caption.textContent === title).tBodies[0].rows].map((row) => row.cells[number].textContent)""",
                         [title, number])


def check_tables(browser, hone, scratch, _):
    """Tables are sorted and filtered by the keyboard alone."""
    html = make(hone, RECORDS / "profiles", scratch / "tables.html")
    with browser.page() as opened:
        page = opened.open(html)
        table = page.locator(".table", has=page.locator("caption", has_text="Operations by layer: training")).last
        header = table.locator("th button")
        rows = table.locator("tbody tr")
        all_rows = rows.count()
        names = header.all_inner_texts()
        ms, layer = (next(i for i, name in enumerate(names) if name.startswith(start)) for start in ("self ms", "layer"))
        header.first.focus()
        for _step in range(ms):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        cells = lambda i: [float(text or "nan") for text in table.locator(f"tbody td:nth-child({i + 1})").all_inner_texts()]
        assert cells(ms) == sorted(cells(ms), reverse=True) and table.locator("th").nth(ms).get_attribute("aria-sort") == "descending"
        page.keyboard.press("Space")
        assert cells(ms) == sorted(cells(ms)) and table.locator("th").nth(ms).get_attribute("aria-sort") == "ascending"
        header.nth(layer).focus()
        page.keyboard.press("Enter")
        layers = [text for text in table.locator(f"tbody td:nth-child({layer + 1})").all_inner_texts() if text.startswith("layer")]
        assert layers == sorted(layers, key=lambda text: int(text.split()[1])), layers
        table.locator("input").focus()
        page.keyboard.type("LINEAR layer 3")
        assert rows.count() == 3 and all("linear" in text and "layer 3" in text for text in rows.all_inner_texts()), rows.all_inner_texts()
        assert table.locator("output").inner_text() == f"3 of {all_rows} rows"
        opened.check_quiet()
    return f"{all_rows} rows by number, by layer, by words"


# A long curve with one lowest and one highest point, and a gap; what is seen of all of it, and of a part.
THINNED = """() => {
  const Curve = document.querySelector(".plot").view.curves[0].constructor, count = 100_000;
  const x = Array.from({length: count}, (_, i) => i), y = x.map((i) => (i >= 2000 && i < 4000 ? null : i % 7));
  y[31_415] = -50;
  y[77_777] = 50;
  const curve = new Curve({x, y});
  return [curve.thinned(0, count, 800), curve.thinned(31_000, 31_500, 800)];
}"""


def check_thinned(page):
    (xs, ys), (near_xs, near_ys) = page.evaluate(THINNED)
    assert xs == sorted(xs) and 200 < len(xs) <= 810, len(xs)
    assert ys[xs.index(31_415)] == -50 and ys[xs.index(77_777)] == 50 and None in ys
    assert near_xs == list(range(30_999, 31_502)) and near_ys[near_xs.index(31_415)] == -50


def check_plots(browser, hone, scratch, _):
    """A dense curve is enlarged and moved by keys, by buttons and by the mouse; curves can be hidden."""
    html = make(hone, RECORDS / "runs", scratch / "plots.html")
    with browser.page() as opened:
        page = opened.open(html)
        seen = lambda: page.evaluate("(() => { const view = document.querySelector('.plot').view; return [view.from, view.to]; })()")
        check_thinned(page)
        plot = page.locator(".plot").first
        assert seen() == [1, 700], seen()
        plot.focus()
        page.keyboard.press("+")
        low, high = seen()
        assert high - low == 349.5 and low > 1, seen()
        page.keyboard.press("ArrowRight")
        assert seen()[0] == low + 0.2 * 349.5
        for _step in range(20):
            page.keyboard.press("ArrowRight")
        assert seen()[1] == 700
        page.keyboard.press("Home")
        assert seen() == [1, 700]
        page.locator("#chart-0").get_by_role("button", name="Larger").click()
        assert seen()[1] - seen()[0] == 349.5
        page.keyboard.press("Tab")
        page.locator("#chart-0").get_by_role("button", name="All of it").click()
        over = page.locator(".u-over").first.bounding_box()
        page.mouse.move(over["x"] + over["width"] / 4, over["y"] + 50)
        page.mouse.down()
        page.mouse.move(over["x"] + over["width"] / 2, over["y"] + 60, steps=4)
        page.mouse.up()
        low, high = seen()
        assert abs(low - 175) < 5 and abs(high - 350) < 5, seen()
        page.keyboard.down("Shift")
        page.mouse.down()
        page.mouse.move(over["x"] + over["width"] / 4, over["y"] + 60, steps=4)
        page.mouse.up()
        page.keyboard.up("Shift")
        assert abs(seen()[0] - low - (high - low) / 4) < 5, seen()
        # What is seen is what the log says there, not what was thinned for the whole.
        drawn = page.evaluate("(() => { const {plot, from, to} = document.querySelector('.plot').view;"
                              " return [plot.data[0], plot.data[2], from, to]; })()")
        log = {line["step"]: line["loss"] for line in map(json.loads, (RECORDS / "runs/dense/log.jsonl").read_text().splitlines()) if "loss" in line}
        shown = {x: y for x, y in zip(*drawn[:2]) if y is not None and drawn[2] <= x <= drawn[3]}
        assert len(shown) >= 170 and all(abs(log[x] - y) < 1e-5 for x, y in shown.items())
        button = page.locator("#chart-0").get_by_role("button", name="dense: loss")
        button.click()
        assert button.get_attribute("aria-pressed") == "false"
        assert page.evaluate("document.querySelector('.plot').view.plot.series[2].show") is False
        opened.check_quiet()
    return "700 steps by keys, buttons and mouse"


def check_flame(browser, hone, scratch, _):
    """Search says what share it found; keys walk through the frames and enlarge one."""
    layers = json.loads((RECORDS / "profiles/training/profile.json").read_text())["layers"]
    whole = sum(row["self_s"] for row in layers)
    found = [row["self_s"] for row in layers if "linear" in row["name"]]
    html = make(hone, RECORDS / "profiles/training", scratch / "flame.html")
    with browser.page() as opened:
        page = opened.open(html)
        figure = page.locator("figure", has=page.locator(".flame"))
        said, width = figure.locator("output"), lambda bar: bar.bounding_box()["width"]
        figure.locator("input").fill("Linear")
        assert said.inner_text() == f"{len(found)} found, {100 * sum(found) / whole:.1f}%", said.inner_text()
        assert 0 < figure.locator(".found").count() <= len(found)
        figure.locator("input").fill("layer")  # layer_norm lies inside of layers, and counts once
        names = {row["layer"] for row in layers if "layer" in row.get("layer", "")}
        norms = [row for row in layers if "layer" in row["name"]]
        inside = sum(row["self_s"] for row in layers if row.get("layer") in names or row in norms)
        assert len(norms) > 5 and said.inner_text() == f"{len(names) + len(norms)} found, {100 * inside / whole:.1f}%", said.inner_text()
        figure.locator("input").fill("")
        window = figure.locator(".bar").first
        window.focus()
        page.keyboard.press("ArrowDown")
        first = page.evaluate("document.activeElement.textContent")
        page.keyboard.press("ArrowRight")
        second = page.evaluate("document.activeElement.textContent")
        assert first and second and first != second
        before = width(figure.locator(".bar", has_text=second).first)
        page.keyboard.press("Enter")
        assert abs(width(figure.locator(".bar", has_text=second).first) - width(window)) < 1 < width(window) - before
        page.keyboard.press("Escape")
        assert abs(width(figure.locator(".bar", has_text=second).first) - before) < 1
        opened.check_quiet()
    return f"search, {len(layers)} operations of layers, by keys"


def check_comparison(browser, hone, scratch, _):
    """Two of three runs, their difference and ratio, and their pictures."""
    results = {name: json.loads((RECORDS / f"runs/{name}/all_results.json").read_text()) for name in ("cold", "warm", "dense")}
    html = make(hone, RECORDS / "runs", scratch / "comparison.html")
    with browser.page() as opened:
        page = opened.open(html)
        for place, run in enumerate(("warm", "cold")):
            page.locator(".compare select").nth(place).select_option(label=run)
        title = "Results of all runs: warm and cold"
        rows = dict(zip(column(page, title, 0), zip(*(column(page, title, i) for i in (1, 2, 3, 4)))))
        loss = [results[run]["train_loss"] for run in ("warm", "cold")]
        wanted = [*loss, loss[1] - loss[0], loss[1] / loss[0]]
        assert all(abs(float(cell) - value) < 2e-3 * abs(value) for cell, value in zip(rows["train_loss"], wanted)), rows["train_loss"]
        page.locator(".compare summary", has_text="Pictures of both").click()
        copies = page.locator(".compare .copies")
        assert copies.count() == 2 and all(copies.nth(i).locator("svg").count() == 2 for i in (0, 1))
        assert "warm" in copies.nth(0).inner_text() and "cold" in copies.nth(1).inner_text()
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
        assert len(ids) == len(set(ids)), "names come twice"
        browser.check_accessible(page)
        opened.check_quiet()
    return f"{len(rows)} results of 2 of 3 runs, 4 pictures"


def check_numbers(browser, hone, scratch, _):
    """CSV has the page's numbers: each table of the page is a file, and thinned ones are part of one."""
    compared = 0
    for name in "runs", "profiles", "studies":
        folder = scratch / f"{name}-numbers"
        shutil.rmtree(folder, ignore_errors=True)
        html = make(hone, RECORDS / name, scratch / f"{name}-numbers.html", "--csv", folder)
        files = [[row for row in csv.reader(path.open(newline=""))] for path in sorted(folder.glob("*.csv"))]
        with browser.page(scripts=False) as opened:
            tables = tables_of(opened.open(html, pictures=False))
        assert len(tables) == len(files), f"{len(tables)} tables, {len(files)} files"
        for title, rows in tables:
            held = [file for file in files if file[0] == rows[0] and all(row in file for row in rows)]
            assert any(len(file) == len(rows) or len(rows) > 200 for file in held), f"{title}: no file has its numbers"
            compared += len(rows) - 1
    return f"{compared} rows"


def check_latex(browser, hone, scratch, _):
    """LaTeX compiles what names of any kind are in."""
    if not shutil.which("pdflatex"):
        return "left out: there is no pdflatex"
    for name in "runs", "profiles", "studies", "hostile":
        if name != "hostile":
            make(hone, RECORDS / name, scratch / f"{name}.html", "--latex", scratch / f"{name}.tex")
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"], cwd=scratch,
                              capture_output=True, timeout=120)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    return "4 documents"


def check_live(browser, hone, scratch, _):
    """The page of --watch renews itself as the log grows, and stays where somebody works on it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="live-", dir=scratch))
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps({"step": step, "loss": 1 / step}) + "\n" for step in range(1, 20)))
    with subprocess.Popen([hone, "report", folder, "--watch", "--port", "0"], stderr=subprocess.PIPE, text=True) as served:
        try:
            url = served.stderr.readline().split()[-1] + "/"
            with browser.page() as opened:
                page = opened.open(url)
                with log.open("a") as more:
                    more.write(json.dumps({"step": 400, "loss": 0.125}) + "\n")
                opened.wait_until("document.querySelector('figure').textContent.includes('0.125')")
                page.locator("summary").first.click()
                assert "Paused" in page.locator("header output").inner_text()
                time.sleep(6)
                assert page.locator("details[open]").count() == 1, "the page was renewed under the reader's hands"
                page.get_by_role("button", name="Go on").click()
                opened.wait_until("document.querySelectorAll('details[open]').length === 0")
                browser.check_accessible(page)
                assert not opened.complaints and set(opened.requests) == {url}, (opened.complaints, opened.requests)
        finally:
            served.terminate()
    shutil.rmtree(folder)
    return "a line that was added is shown; a reader's page waits"


CHECKS = {"still": check_still, "hostile": check_hostile, "tables": check_tables, "plots": check_plots, "flame": check_flame,
          "comparison": check_comparison, "numbers": check_numbers, "latex": check_latex, "live": check_live}
