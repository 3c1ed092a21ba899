"""What recording itself takes: the consumer thread, the file, losses."""
from harness import Recording, Target, program, table
from server import Server

SECONDS = 4


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
    table("Throughput of the recorder (one consumer thread); bytes include stacks, names and the ledger", heads, [
        pairs(1, "--backtrace", "none"),
        pairs(2, "--backtrace", "none"),
        pairs(1),
        server("--backtrace", "none"),
        server(),
    ])


if __name__ == "__main__":
    main()
