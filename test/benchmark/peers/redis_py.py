"""redis-py's asyncio Lock, measured as colock is: see ../peers.cpp, which gives the orders as JSON, and reads the
answer. It locks on a single instance."""

import asyncio
import json
import resource
import sys
import time

import redis.asyncio

ORDERS = json.loads(sys.argv[1])
TTL = 10


def cpu_us():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e6


def now_us():
    return time.monotonic_ns() / 1000


async def main():
    client = redis.asyncio.Redis.from_url(ORDERS["instances"][0])
    await client.ping()
    begin = now_us() + ORDERS["warm_up_ms"] * 1000
    end = begin + ORDERS["duration_ms"] * 1000
    latencies = []
    cycles = 0

    async def work(number):
        nonlocal cycles
        started = now_us()
        while started < end:
            lock = client.lock(f"benchmark:{number:06}", timeout=TTL)
            await lock.acquire()
            await lock.release()
            done = now_us()
            cycles += 1
            if begin <= done < end:
                latencies.append(done - started)
            started = done

    async def measure_cpu():
        await asyncio.sleep((begin - now_us()) / 1e6)
        before = cpu_us()
        await asyncio.sleep((end - now_us()) / 1e6)
        return cpu_us() - before

    cpu, *_ = await asyncio.gather(measure_cpu(), *(work(i) for i in range(ORDERS["tasks"])))
    latencies.sort()

    def percentile(fraction):
        return latencies[int(fraction * (len(latencies) - 1))]

    answer = {
        "cycles_per_second": len(latencies) / (ORDERS["duration_ms"] / 1000),
        "p50_us": percentile(0.5),
        "p99_us": percentile(0.99),
        "client_cpu_us_per_cycle": cpu / len(latencies),
        "cycles_with_warm_up": cycles,
    }
    print(json.dumps(answer), flush=True)


asyncio.run(main())
