// A worker that locks with node-redlock (see worker.hpp). The arguments are the instances.
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import Redis from "ioredis";
import Redlock, { ExecutionError } from "redlock";

const clients = process.argv.slice(2).map((uri) => new Redis(uri));
const redlock = new Redlock(clients); // With its default delays.
const once = { retryCount: 0 };
const often = { retryCount: 50 }; // Ten seconds, for a busy machine.
const held = new Map();
const now = () => process.hrtime.bigint();

// Returns the result of `action`, or nothing if the library reports that it got no quorum.
async function unlessRefused(action) {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ExecutionError) return undefined;
    throw error;
  }
}

async function take(name, ttl, settings) {
  const lock = await unlessRefused(() => redlock.acquire([name], ttl, settings));
  if (!lock) return "denied";
  held.set(name, lock);
  return "taken";
}

async function extend(name, ttl) {
  if (!held.has(name)) return "refused";
  const lock = await unlessRefused(() => redlock.extend(held.get(name), ttl, once));
  if (!lock) return "refused";
  held.set(name, lock);
  return "extended";
}

async function release(name) {
  const lock = held.get(name);
  if (!held.delete(name)) return "refused";
  return (await unlessRefused(() => redlock.release(lock, once))) ? "released" : "refused";
}

async function contend(file, seconds, ttl, hold, most, names) {
  const end = now() + BigInt(Math.round(seconds * 1e9));
  const records = createWriteStream(file);
  while (now() < end) {
    const some = new Set();
    for (let count = 1 + Math.floor(Math.random() * most); count > 0; count--) {
      some.add(names[Math.floor(Math.random() * names.length)]);
    }
    const asked = now();
    const lock = await unlessRefused(() => redlock.acquire([...some], ttl));
    if (!lock) continue; // The library has given up.
    const entered = now();
    await sleep(hold);
    const left = now();
    for (const name of some) records.write(`${name} ${asked} ${entered} ${left}\n`);
    await lock.release();
  }
  await new Promise((resolve) => records.end(resolve));
  return "done";
}

function obey([verb, ...words]) {
  switch (verb) {
    case "take":
      return take(words[0], Number(words[1]), once);
    case "wait":
      return take(words[0], Number(words[1]), often);
    case "extend":
      return extend(words[0], Number(words[1]));
    case "release":
      return release(words[0]);
    case "contend":
      return contend(words[0], ...words.slice(1, 5).map(Number), words.slice(5));
    default:
      throw new Error(`unknown: ${verb}`);
  }
}

const say = (word, began) => process.stdout.write(`${word} ${began} ${now()}\n`);

// The library sends each script once in full, and then by its digest. During the first use, commands on one
// connection may overtake each other.
const began = now();
await Promise.all(clients.map((client) => client.ping()));
const first = await redlock.acquire(["interop:first"], 1000);
await (await first.extend(1000)).release();
await sleep(100);
say("ready", began);

for await (const line of createInterface({ input: process.stdin })) {
  const began = now();
  say(await obey(line.split(" ")), began);
}
process.exit(0);
