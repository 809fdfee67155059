#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public histories of clouds as traces of the provider `sim` (plugins/provider/sim/README.md has the format).

  convert.py availability FILE.json...            skypilot-org/spot-traces: one file a zone, named ZONE_TYPE.json
  convert.py windows ARCHIVE.tar.zst PATTERN...   FrontierCS can't-be-late: members of the archive that fit, one a zone
  convert.py gcp-prices FILE.tsv.zst              Google's list prices as they changed
  convert.py aws-prices FILE.tsv.zst              AWS spot prices as they changed
  convert.py catalogue FILE.csv                   list prices of one day (gcp_, azure_ or aws_ondemand_*.csv): offers without events

The trace goes to standard output, or to --output FILE. Standard library only; .zst is read by the program `zstd`."""
import argparse
import csv
import datetime
import fnmatch
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from decimal import Decimal, InvalidOperation

# What the traces' authors call a machine: the AWS or Google type behind it, as those providers document it.
NAMED = {
    "k80_1": "cpu=4 memory=61GiB gpus=1 gpu=K80 gpu-memory=12GiB",  # p2.xlarge
    "k80_8": "cpu=32 memory=488GiB gpus=8 gpu=K80 gpu-memory=12GiB",  # p2.8xlarge
    "v100_1": "cpu=8 memory=61GiB gpus=1 gpu=V100 gpu-memory=16GiB",  # p3.2xlarge
    "v100_8": "cpu=64 memory=488GiB gpus=8 gpu=V100 gpu-memory=16GiB",  # p3.16xlarge
    "intel_64": "cpu=64 memory=512GiB",  # r5.16xlarge
    "c3-88": "cpu=88 memory=176GiB",  # c3-highcpu-88
}
GPU_MEMORY = {"a100": 40, "a100-80gb": 80, "h100-80gb": 80, "h100-80gb-mega": 80, "l4": 24, "rtx6000": 96}
GIB_A_CORE = {"c": 2, "m": 4, "r": 8, "x": 16, "u": 16, "i": 8, "d": 8, "z": 8, "g": 4, "p": 8}


def fail(text):
    sys.exit("convert.py: " + text)


def zstd(path):
    """The content of a .zst file as it comes."""
    try:
        return subprocess.Popen(["zstd", "-dc", "--", path], stdout=subprocess.PIPE)
    except FileNotFoundError:
        fail("the program zstd is not there (package zstd)")


def finished(process, path):
    process.stdout.close()
    # a reader that stops early ends the writer by SIGPIPE
    if process.wait() not in (0, -13):
        fail(f"{path}: zstd could not read it")


def price(text, where):
    try:
        value = Decimal(text)
    except InvalidOperation:
        fail(f"{where}: {text!r} is no price")
    if not value.is_finite() or value < 0 or value >= 1000000:
        fail(f"{where}: a price of {text} an hour is none")
    # nano-units are the finest there is; whatever is finer is rounded up
    value = value.quantize(Decimal("1e-9"), rounding="ROUND_UP")
    return format(value.normalize(), "f")


class Trace:
    """Gathers offers and events; prints them as the reader wants them: head first, events by time."""

    def __init__(self, note, start=None, currency="USD"):
        self.note, self.start, self.currency = note, start, currency
        self.types, self.zones, self.offers, self.events = {}, {}, {}, []

    def type(self, name, words):
        name = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:64]
        self.types.setdefault(name, words)
        return name

    def zone(self, name, egress="0"):
        name = re.sub(r"[^a-z0-9-]", "-", name.lower())[:48]
        self.zones.setdefault(name, egress)
        return name

    def offer(self, zone, kind, spot, words):
        name = f"{zone}/{kind}" + ("/spot" if spot else "")
        if name in self.offers:
            fail(f"{name} comes twice")
        self.offers[name] = words
        return name

    def event(self, at_s, name, words):
        self.events.append((at_s, len(self.events), f"{at_s}s {name} {words}"))

    def write(self, out):
        if not self.offers:
            fail("no offer is left of what was asked for")
        print("portald-trace 1", file=out)
        for line in self.note.splitlines():
            print("# " + line, file=out)
        if self.start:
            print("start " + self.start.strftime("%Y-%m-%dT%H:%M:%SZ"), file=out)
        print("currency " + self.currency, file=out)
        for name, words in self.types.items():
            print(f"type {name} {words}", file=out)
        for name, egress in self.zones.items():
            print(f"zone {name} egress={egress}", file=out)
        for name, words in self.offers.items():
            print(f"offer {name} {words}", file=out)
        for _, _, line in sorted(self.events):
            print(line, file=out)


# ---- availability: ticks of 0/1 or 0..n ----


def ticks(trace, args, stem, doc, where):
    """One zone's ticks: a spot offer whose capacity changes, and the on-demand offer beside it."""
    zone_name, _, kind = stem.partition("_")
    if kind not in NAMED:
        fail(f"{where}: the type {kind!r} is not known; {', '.join(NAMED)} are")
    if kind != "v100_1" and (args.on_demand is None or args.spot is None):
        fail(f"{where}: for {kind} say --on-demand and --spot; only v100_1 has published ones (3.06 and 0.97)")
    try:
        gap, data = doc["metadata"]["gap_seconds"], doc["data"]
    except (KeyError, TypeError):
        fail(f"{where}: it has no metadata.gap_seconds and data")
    if not isinstance(gap, int) or gap <= 0 or not data or not all(isinstance(n, int) and n >= 0 for n in data):
        fail(f"{where}: its ticks are not whole numbers of machines, every whole number of seconds")
    kind = trace.type(kind, NAMED[kind])
    zone = trace.zone(zone_name, args.egress)
    trace.offer(zone, kind, False, f"price={price(args.on_demand or '3.06', where)}")
    spot = trace.offer(zone, kind, True, f"price={price(args.spot or '0.97', where)} capacity={data[0]} notice={args.notice}")
    for i in range(1, len(data)):
        if data[i] != data[i - 1]:
            trace.event(i * gap, spot, f"capacity {data[i]}")


def stem_of(path):
    return os.path.basename(path)[: -len(".json")] if path.endswith(".json") else os.path.basename(path)


def availability(args):
    trace = Trace("From skypilot-org/spot-traces: " + ", ".join(os.path.basename(f) for f in args.files))
    for path in args.files:
        with open(path, encoding="utf-8") as f:
            ticks(trace, args, stem_of(path), json.load(f), path)
    return trace


def windows(args):
    trace = Trace("From FrontierCS/Frontier-CS, can't be late, (c) 2025 FrontierCS Team, MIT licence: "
                  + os.path.basename(args.archive) + " " + " ".join(args.patterns))
    source, seen = zstd(args.archive), set()
    with tarfile.open(fileobj=source.stdout, mode="r|") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if not member.isfile() or not any(fnmatch.fnmatch(name, p) for p in args.patterns):
                continue
            doc = json.loads(archive.extractfile(member).read())
            # .../ZONE_TYPE/N.json or .../ZONE_TYPE/traces/random_start/N.json
            pool = next((p for p in reversed(name.split("/")) if re.fullmatch(r"[a-z]+-[a-z]+-[0-9][a-z]_.+", p)), None)
            if not pool:
                fail(f"{name}: no part of its path is a zone and a type")
            if pool in seen:
                fail(f"{name}: {pool} fits twice; a trace has one window of each zone")
            seen.add(pool)
            start = doc.get("metadata", {}).get("start_time")
            if isinstance(start, str) and not trace.start:  # else it is a tick's number
                trace.start = datetime.datetime.fromisoformat(start)
            ticks(trace, args, pool, doc, name)
    finished(source, args.archive)
    # the archive's order is chance
    for table in ("zones", "offers"):
        setattr(trace, table, dict(sorted(getattr(trace, table).items())))
    return trace


# ---- prices ----


def gcp_types(path):
    """machine_type -> the words of its type, from the catalogue."""
    words = {}
    with open(path, encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            words.setdefault(row["machine_type"], gcp_words(row))
    return words


def gcp_words(row):
    text = f"cpu={row['vcpu']} memory={int(Decimal(row['ram_gib']) * 1024)}MiB"
    if row["gpu"] and "." not in row["gpu_count"]:  # a part of a GPU is none that a job could ask for
        text += f" gpus={row['gpu_count']} gpu={row['gpu']} gpu-memory={GPU_MEMORY.get(row['gpu'], 16)}GiB"
    return text


def wanted(args, kind, place):
    return fnmatch.fnmatch(kind, args.type) and fnmatch.fnmatch(place, args.zone)


def gcp_rows(args):
    """(date, type, region, on-demand or None, spot or None) of what was asked for; None, None = it left the list."""
    source = zstd(args.file)
    for n, line in enumerate(io.TextIOWrapper(source.stdout, "utf-8"), 1):
        part = line.rstrip("\n").split("\t")
        if len(part) != 5:
            fail(f"{args.file}:{n}: five fields with tabs between are due")
        if not wanted(args, part[1], part[2]):
            continue
        day = datetime.datetime.fromisoformat(part[0])
        if args.until and day > args.until:
            break
        yield n, day, part[1], part[2], *(None if p in ("", "-") else p for p in part[3:])
    finished(source, args.file)


def gcp_prices(args):
    trace = Trace("From Google's public price list as Cyclenerd/google-cloud-pricing-cost-calculator kept it, (c) Nils Knieling, "
                  "Apache-2.0\nCores and memory of a type are those of the catalogue of list prices.")
    types, last = gcp_types(args.catalogue), {}
    for n, day, kind, region, *prices in gcp_rows(args):
        trace.start = trace.start or args.since or day
        at = max(0, int((day - trace.start).total_seconds()))
        if kind not in types:
            continue
        for spot in (False, True):
            change(trace, last, (trace.zone(region, "0.08"), trace.type(kind, types[kind]), spot), at, prices[spot], f"{args.file}:{n}")
    return trace


def change(trace, last, key, at, value, where):
    """A price of this offer from then on; None = it is not offered."""
    zone, kind, spot = key
    have = last.get(key)
    value = price(value, where) if value is not None else None
    if have is None:
        if value is None:
            return
        name = trace.offer(zone, kind, spot, f"price={value}" + (" notice=30s" if spot else "") + (" listed=no" if at else ""))
        if at:
            trace.event(at, name, "listed yes")
        last[key] = (name, value, True, at)
        return
    name, before, listed, began = have
    if value is None and listed:
        trace.event(at, name, "listed no")
    elif value is not None:
        if value != before and at == 0:  # of before the start: it is the price at the start
            trace.offers[name] = re.sub(r"price=\S+", f"price={value}", trace.offers[name])
        elif value != before:
            trace.event(at, name, f"price {value}")
        if not listed:
            trace.event(at, name, "listed yes")
    last[key] = (name, value or before, value is not None, began)


def aws_words(kind):
    """Cores and memory by the type's name: Nxlarge has 4 N cores, large 2; memory by the family. A guess, and so it is said."""
    family, _, size = kind.partition(".")
    many = re.fullmatch(r"([0-9]*)xlarge", size)
    cores = 4 * int(many[1] or 1) if many else 96 if size.startswith("metal") else 2
    return f"cpu={cores} memory={cores * GIB_A_CORE.get(family[:1], 4)}GiB"


def aws_prices(args):
    trace = Trace("From AWS spot prices as ericpauley/aws-spot-price-history kept them.\n"
                  "Cores and memory of a type are derived from its name, and only about right.")
    source, last, rows = zstd(args.file), {}, []
    for n, line in enumerate(io.TextIOWrapper(source.stdout, "utf-8"), 1):
        part = line.rstrip("\n").split("\t")
        if len(part) != 5:
            fail(f"{args.file}:{n}: five fields with tabs between are due")
        if part[2] == args.product and wanted(args, part[1], part[0]):
            rows.append((datetime.datetime.fromisoformat(part[4]), n, part[0], part[1], part[3]))
    finished(source, args.file)
    for when, n, place, kind, value in sorted(rows):
        trace.start = trace.start or when
        key = (trace.zone(place, "0.02"), trace.type(kind, aws_words(kind)), True)
        at = int((when - trace.start).total_seconds())
        # what is first said of a pool was true before: a history has no word on when it began
        change(trace, last, key, at if key in last else 0, value, f"{args.file}:{n}")
    return trace


def azure_words(kind):
    many = re.match(r"[A-Za-z]+_[A-Z]+([0-9]+)", kind)
    cores = int(many[1]) if many and many[1] != "0" else 1
    return f"cpu={cores} memory={4 * cores}GiB"


def catalogue(args):
    name = os.path.basename(args.file)
    trace = Trace(f"List prices of one day: {name}")
    with open(args.file, encoding="utf-8", newline="") as f:
        for n, row in enumerate(csv.DictReader(f), 2):
            kind = row.get("machine_type") or row.get("vm_size") or row.get("instance_type")
            if not kind or "region" not in row:
                fail(f"{args.file}:{n}: neither a Google, Azure nor AWS catalogue")
            if not wanted(args, kind, row["region"]) or row["region"].startswith("cn-"):
                continue  # cn-north-1 is in CNY
            words = gcp_words(row) if "vcpu" in row else azure_words(kind) if "vm_size" in row else aws_words(kind)
            zone, kind = trace.zone(row["region"], "0.08"), trace.type(kind, words)
            where = f"{args.file}:{n}"
            if row["usd_hour"]:  # some are only to be had as spot
                trace.offer(zone, kind, False, f"price={price(row['usd_hour'], where)}")
            if row.get("usd_hour_spot"):
                trace.offer(zone, kind, True, f"price={price(row['usd_hour_spot'], where)} notice=30s")
            if args.limit and len(trace.offers) >= args.limit:
                break
    return trace


def day(text):
    return datetime.datetime.fromisoformat(text)


def arguments():
    parser = argparse.ArgumentParser(prog="convert.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("availability")
    one.add_argument("files", nargs="+")
    one.set_defaults(run=availability)
    two = kinds.add_parser("windows")
    two.add_argument("archive")
    two.add_argument("patterns", nargs="+")
    two.set_defaults(run=windows)
    for sub in (one, two):
        sub.add_argument("--on-demand", help="price an hour (3.06 for v100_1)")
        sub.add_argument("--spot", help="price an hour (0.97 for v100_1)")
        sub.add_argument("--notice", default="2m", help="warning before a reclaim")
        sub.add_argument("--egress", default="0.02", help="price of a GiB that leaves a zone")
    gcp = kinds.add_parser("gcp-prices")
    gcp.add_argument("file")
    gcp.add_argument("--catalogue", required=True, help="gcp_*.csv: cores and memory of the types")
    gcp.add_argument("--since", type=day, help="the trace begins then; prices of before count from its start")
    gcp.add_argument("--until", type=day)
    gcp.set_defaults(run=gcp_prices)
    aws = kinds.add_parser("aws-prices")
    aws.add_argument("file")
    aws.add_argument("--product", default="Linux/UNIX")
    aws.set_defaults(run=aws_prices)
    cat = kinds.add_parser("catalogue")
    cat.add_argument("file")
    cat.add_argument("--limit", type=int, help="offers")
    cat.set_defaults(run=catalogue)
    for sub in (gcp, aws, cat):
        sub.add_argument("--type", default="*", help="a pattern: n2-standard-*")
        sub.add_argument("--zone", default="*", help="a pattern: europe-*")
    for sub in (one, two, gcp, aws, cat):
        sub.add_argument("--output", "-o", help="file; else standard output")
    return parser.parse_args()


def main():
    args = arguments()
    try:
        trace = args.run(args)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, tarfile.TarError) as e:
        fail(str(e))
    if not args.output:
        return trace.write(sys.stdout)
    with open(args.output + ".new", "w", encoding="utf-8") as out:
        trace.write(out)
    os.replace(args.output + ".new", args.output)


if __name__ == "__main__":
    main()
