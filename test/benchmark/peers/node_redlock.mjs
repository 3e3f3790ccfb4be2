// Measures node-redlock with the same workloads as colock. ../peers.cpp sends the orders as JSON and reads
// the answer.
import { setTimeout as sleep } from "node:timers/promises";
import Redis from "ioredis";
import Redlock, { ExecutionError } from "redlock";

const orders = JSON.parse(process.argv[2]);
const fastest = orders.settings === "fastest";
const clients = orders.instances.map((uri) => new Redis(uri, { enableAutoPipelining: fastest }));
const redlock = new Redlock(clients, fastest ? { retryCount: -1, retryDelay: 1, retryJitter: 1 } : {});
const ttl = 10000;

const now_us = () => Number(process.hrtime.bigint()) / 1000;
const cpu_us = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

// Retries until the lock is acquired, even if the library reports a failure.
async function acquire(name) {
  for (;;) {
    try {
      return await redlock.acquire([name], ttl);
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error;
    }
  }
}

function percentile(sorted, fraction) {
  return sorted[Math.floor(fraction * (sorted.length - 1))];
}

// Each task has a lock of its own.
async function uncontended() {
  const begin = now_us() + orders.warm_up_ms * 1000;
  const end = begin + orders.duration_ms * 1000;
  const latencies = [];
  let cycles = 0;
  let cpu = 0;
  setTimeout(() => (cpu -= cpu_us()), orders.warm_up_ms);
  setTimeout(() => (cpu += cpu_us()), orders.warm_up_ms + orders.duration_ms);
  const work = async (number) => {
    const name = `benchmark:${String(number).padStart(6, "0")}`;
    for (let started = now_us(); started < end; ) {
      const lock = await redlock.acquire([name], ttl);
      await lock.release();
      const done = now_us();
      ++cycles;
      if (done >= begin && done < end) latencies.push(done - started);
      started = done;
    }
  };
  await Promise.all(Array.from({ length: orders.tasks }, (_, number) => work(number)));
  await sleep(Math.max(0, (end - now_us()) / 1000 + 20));
  latencies.sort((a, b) => a - b);
  return {
    cycles_per_second: latencies.length / (orders.duration_ms / 1000),
    p50_us: percentile(latencies, 0.5),
    p99_us: percentile(latencies, 0.99),
    client_cpu_us_per_cycle: cpu / latencies.length,
    cycles_with_warm_up: cycles,
  };
}

// All tasks compete for one lock and hold it for a while.
async function hold() {
  const end = now_us() + orders.duration_ms * 1000;
  const holds = [];
  const before = cpu_us();
  const work = async () => {
    for (let asked = now_us(); asked < end; asked = now_us()) {
      const lock = await acquire("benchmark:000000");
      const granted = now_us();
      await sleep(orders.hold_ms);
      holds.push([asked, granted, now_us()]);
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: orders.tasks }, work));
  return { holds, cpu_us: cpu_us() - before };
}

await Promise.all(clients.map((client) => client.ping()));
await (await acquire("benchmark:first")).release(); // Loads the scripts into the servers.
const answer = await (orders.workload === "hold" ? hold() : uncontended());
// A release completes when a quorum has answered. The other replies may still be in flight.
await sleep(50);
await Promise.all(clients.map((client) => client.quit()));
// A long answer does not fit into the pipe in one write, and `exit` would not wait for the rest.
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
