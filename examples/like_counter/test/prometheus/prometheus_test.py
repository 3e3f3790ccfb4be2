#!/usr/bin/env python3
"""Checks the metrics that colock and the like counter serve, with promtool. This is a ctest test.

- promtool accepts the text of a client, of several clients and of the like counter, and has no complaint.
- Each member of colock::counters is a metric.
- docs/prometheus.md lists each metric with its type, and no other metric.
- promtool accepts prometheus.yml and alerts.yml. The alerts pass their tests.
- promtool parses each expression of grafana.json and of docs/prometheus.md.
- Metrics and labels of these expressions occur in the text.
- GET /metrics does not count as a request.

Prints each fault. The exit code is 1 if there is one.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

METRIC = r"\b(?:colock|likecounter)_\w+"
TARGET_LABELS = {"job", "instance"}  # Prometheus adds them.
LIKES = "/v1/entities/ada.first/likes"
faults = []


def expect(success, text):
    if not success:
        faults.append(text)


def promtool(*arguments, text=None):
    """Returns the exit code, and everything that it prints."""
    done = subprocess.run(["promtool", *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout.strip()


class Service:
    """A like counter in memory."""

    def __init__(self, program):
        arguments = ["--listen", "127.0.0.1:0", "--data", "memory"]
        for name in "abc":
            arguments += ["--lock", f"memory://{name}"]
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        line = self.process.stdout.readline()
        self.address = line.removeprefix("listening on ").strip()
        if not self.address.startswith("http://"):
            sys.exit(f"the service does not listen, but prints: {line}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)

    def ask(self, target, method="GET", body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        request = urllib.request.Request(self.address + target, method=method, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.headers, answer.read().decode()


class Text:
    """A text of metrics."""

    def __init__(self, title, text):
        self.title = title
        self.text = text
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        self.samples = set(re.findall(r"^(\w+)(?:\{.*\})? \S+$", text, re.M))
        self.labels = {label for line in re.findall(r"^\w+\{(.*)\} \S+$", text, re.M) for label in re.findall(r'(\w+)="', line)}

    def check(self):
        code, output = promtool("check", "metrics", text=self.text)
        expect(code == 0 and not output, f"promtool complains about the text of {self.title}: {output}")
        expect(len(self.types) > 30, f"the text of {self.title} describes only {len(self.types)} metrics")
        # promtool must be able to complain.
        code, output = promtool("check", "metrics", text=self.text + self.text)
        expect(code != 0, f"promtool accepts the text of {self.title} twice")


def texts_of(program):
    """The example prints the text of one client, and then that of two."""
    output = subprocess.run([program, "memory://a"], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    begin = output.rindex("# HELP colock_attempts_total")
    return [Text("a client", output[:begin]), Text("two clients", output[begin:])]


def text_of_service(program):
    with Service(program) as service:
        service.ask(LIKES, "POST", b'{"user": "bob"}')
        service.ask(LIKES)
        for _ in range(3):
            headers, text = service.ask("/metrics")
        expect(headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", f"the content type is {headers['Content-Type']}")
        for series in ["likecounter_requests_total 2", "likecounter_accepted_total 1", "likecounter_in_flight 0", "colock_acquired_total 1", "colock_instances_ready 3"]:
            expect(f"\n{series}\n" in text, f"/metrics does not have {series}")
        counted = json.loads(service.ask("/v1/status")[1])["service"]
        expect(counted["requests"] == 2 and counted["in_flight"] == 0, f"requests to /metrics count: {counted}")
        return Text("the like counter", text)


def check_counters(root, text):
    source = (root / "include/colock/counters.hpp").read_text()
    members = re.findall(r"^    std::uint64_t (\w+) =", source, re.M)
    expect(len(members) > 20, "no members of colock::counters were found in counters.hpp")
    for member in members:
        expect(
            text.types.get(f"colock_{member}_total") == "counter" or text.types.get(f"colock_{member}") == "gauge",
            f"there is no metric for colock::counters::{member}",
        )


def check_table(page, text):
    """The tables of the page. A row begins with the name of a metric and its type."""
    rows = dict(re.findall(rf"^\| `({METRIC})` \| (\w+) \|", page, re.M))
    for name, kind in text.types.items():
        expect(rows.get(name) == kind, f"docs/prometheus.md does not list {name} as a {kind}")
    for name in rows.keys() - text.types.keys():
        faults.append(f"docs/prometheus.md lists {name}, which is not in the text")


def check_names(title, expression, text):
    for name in re.findall(METRIC, expression):
        expect(name in text.samples, f"{title}: there is no metric {name}")
    matchers = [label for part in re.findall(r"\{([^{}]*)\}", expression) for label in re.findall(r"(\w+)\s*(?:=|!)", part)]
    lists = [label.strip() for part in re.findall(r"\b(?:by|on|without|ignoring) \(([^()]*)\)", expression) for label in part.split(",")]
    for label in matchers + lists:
        expect(label in text.labels | TARGET_LABELS, f"{title}: no metric has the label {label}")


def check_expressions(title, expressions, text, folder):
    """Lets promtool parse the expressions as rules."""
    expect(expressions, f"{title} has no expressions")
    rules = []
    for i, expression in enumerate(expressions):
        check_names(title, expression, text)
        plain = expression.replace("$__rate_interval", "1m").replace("$job", ".*")
        expect("$" not in plain, f"{title}: the variable in {expression} is unknown")
        rules.append({"record": f"expression:{i}", "expr": plain})
    path = folder / "rules.json"  # JSON is YAML, too
    path.write_text(json.dumps({"groups": [{"name": "expressions", "rules": rules}]}))
    code, output = promtool("check", "rules", str(path))
    expect(code == 0, f"promtool rejects an expression of {title}: {output}")


def expressions_of(dashboard):
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def check_dashboard(path, text, folder):
    dashboard = json.loads(path.read_text())
    check_expressions(path.name, expressions_of(dashboard), text, folder)
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    expect(variables["datasource"]["type"] == "datasource", "grafana.json does not let the user choose a data source")
    check_names("the variable job", variables["job"]["definition"], text)
    for field in ["uid", "title", "schemaVersion", "version", "time"]:
        expect(dashboard.get(field), f"grafana.json has no {field}")
    expect(dashboard["id"] is None, "grafana.json has an id, so Grafana would not import it")
    ids = [panel["id"] for panel in dashboard["panels"]]
    expect(len(ids) == len(set(ids)), "two panels of grafana.json have the same id")
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        expect(place["x"] + place["w"] <= 24, f"the panel {panel['title']} is too wide")
        # A target without a data source uses that of its panel.
        for source in [panel["datasource"], *(target["datasource"] for target in panel["targets"] if "datasource" in target)]:
            expect(source["uid"] == "${datasource}", f"the panel {panel['title']} has a data source of its own")


def check_alerts(folder, tests, text):
    rules = (folder / "alerts.yml").read_text()
    for name in re.findall(METRIC, rules):
        expect(name in text.samples, f"alerts.yml: there is no metric {name}")
    for arguments in [("check", "config", folder / "prometheus.yml"), ("check", "rules", folder / "alerts.yml"), ("test", "rules", tests)]:
        code, output = promtool(*map(str, arguments))
        expect(code == 0, f"promtool {' '.join(arguments[:2])} complains: {output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metrics", help="the program of examples/metrics.cpp")
    parser.add_argument("service", help="the program like_counter_service")
    arguments = parser.parse_args()
    if not shutil.which("promtool"):
        print("promtool is missing. On Debian, cmake/bootstrap.sh --tests installs it.")
        return 1
    here = Path(__file__).resolve().parent
    example, root = here.parents[1], here.parents[3]
    service = text_of_service(arguments.service)
    for text in [*texts_of(arguments.metrics), service]:
        text.check()
    check_counters(root, service)
    page = (root / "docs/prometheus.md").read_text()
    check_table(page, service)
    check_alerts(example / "demo", here / "alerts_test.yml", service)
    with tempfile.TemporaryDirectory() as folder:
        check_dashboard(example / "demo/grafana.json", service, Path(folder))
        samples = re.findall(r"^```promql\n(.*?)^```", page, re.M | re.S)
        lines = [line.split("#")[0].strip() for sample in samples for line in sample.splitlines()]
        check_expressions("docs/prometheus.md", [line for line in lines if line], service, Path(folder))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
