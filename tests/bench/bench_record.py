"""What recording itself takes: the consumer thread, the file, losses."""
from harness import QUICK, Recording, Target, program, table, verdict
from server import Server

SECONDS = 1 if QUICK else 4


def pairs(threads, *options):
    target = Target(program("pairs"), str(SECONDS), "10", str(threads))
    recording = Recording(target.pid, *options)
    result = target.run()
    recording.stop()
    target.close()
    events = recording.counts["recorded"]
    return [f"{threads} thread{'s' if threads > 1 else ''} of malloc+free, {' '.join(options) or 'full stacks'}",
            f"{events / SECONDS / 1e6:.2f} M/s", recording.counts["lost"], f"{recording.bytes / events:.1f}",
            f"{recording.cpu / events * 1e9:.0f} ns", f"{1 / (recording.cpu / events) / 1e6:.1f} M/s",
            f"{recording.peak_mb:.0f} MB", f"{float(result[0]):.0f} ns"]


def server(*options):
    s = Server()
    s.load(1)
    recording = Recording(s.pid, *options)
    rate = s.load(SECONDS)
    recording.stop()
    s.close()
    events = max(recording.counts["recorded"], 1)
    return [f"Crystal server, {' '.join(options) or 'full stacks'}", f"{events / SECONDS / 1e6:.2f} M/s",
            recording.counts["lost"], f"{recording.bytes / events:.1f}", f"{recording.cpu / events * 1e9:.0f} ns",
            f"{1 / (recording.cpu / events) / 1e6:.1f} M/s", f"{recording.peak_mb:.0f} MB", f"{rate:.0f} req/s"]


def main():
    heads = ["recording to disk", "events", "lost", "bytes/event", "tracer CPU/event", "one consumer can", "peak",
             "target"]
    rows = [
        pairs(1, "--backtrace", "none"),
        pairs(2, "--backtrace", "none"),
        pairs(1),
        server("--backtrace", "none"),
        server(),
    ]
    table("Throughput of the recorder (one consumer thread); bytes include stacks, names and the ledger", heads, rows)
    lost = sum(row[2] for row in rows)
    slowest = min(rows, key=lambda row: float(row[5].split()[0]))
    verdict("events a consumer thread can record to disk (by its CPU)", "at least 1 M/s, none lost",
            f"{slowest[5]}, {lost} lost", float(slowest[5].split()[0]) >= 1 and not lost)
    verdict("bytes of file per event, Crystal server, full stacks", "at most 16", rows[-1][3], float(rows[-1][3]) <= 16)


if __name__ == "__main__":
    main()
