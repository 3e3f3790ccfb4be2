"""A worker (see worker.hpp) that locks with redis-py. Argument: the instance, a single one."""

import random
import sys
import time

import redis
from redis.exceptions import LockError

client = redis.Redis.from_url(sys.argv[1])
held = {}


def lock_on(name, ttl_ms):
    # Polls ten times as often as by default, for more contention.
    return client.lock(name, timeout=ttl_ms / 1000, sleep=0.01)


def take(name, ttl_ms, timeout):
    lock = lock_on(name, ttl_ms)
    if not lock.acquire(blocking=timeout > 0, blocking_timeout=timeout):
        return "denied"
    held[name] = lock
    return "taken"


def extend(name, ttl_ms):
    if name not in held:
        return "refused"
    try:
        held[name].extend(ttl_ms / 1000, replace_ttl=True)
        return "extended"
    except LockError:
        return "refused"


def release(name):
    if name not in held:
        return "refused"
    try:
        held.pop(name).release()
        return "released"
    except LockError:
        return "refused"


def contend(file, seconds, ttl_ms, hold_ms, names):
    end = time.monotonic() + seconds
    with open(file, "w", encoding="ascii") as records:
        while time.monotonic() < end:
            name = random.choice(names)
            lock = lock_on(name, ttl_ms)
            asked = time.monotonic_ns()
            lock.acquire()
            entered = time.monotonic_ns()
            time.sleep(hold_ms / 1000)
            records.write(f"{name} {asked} {entered} {time.monotonic_ns()}\n")
            lock.release()
    return "done"


def obey(verb, words):
    if verb == "take":
        return take(words[0], int(words[1]), 0)
    if verb == "wait":
        return take(words[0], int(words[1]), 10)
    if verb == "extend":
        return extend(words[0], int(words[1]))
    if verb == "release":
        return release(words[0])
    if verb == "contend":
        # One name at a time.
        return contend(words[0], float(words[1]), int(words[2]), int(words[3]), words[5:])
    raise ValueError(verb)


def say(word, began):
    print(word, began, time.monotonic_ns(), flush=True)


began = time.monotonic_ns()
client.ping()
say("ready", began)
for line in iter(sys.stdin.readline, ""):
    began = time.monotonic_ns()
    verb, *words = line.split()
    say(obey(verb, words), began)
