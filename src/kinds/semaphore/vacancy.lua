-- Reports when a semaphore has enough free permits.
--
-- KEYS[1]  The key.
-- ARGV[1]  The prefix of the client's tokens: `permit:<limit>*<count>:`.
-- Returns  One of these replies:
-- * -2: enough permits are free now.
-- * The time in milliseconds until then, if no holder renews its lease.
-- * -1: never, because the key has no ttl.
-- * 'of <lock> <PTTL>': another lock has the key.
-- * 'holds <type> <PTTL>': no lock wrote the key.

--@include ../look.lua
--@include ../other_lock.lua
--@include permits.lua

local key = KEYS[1]
local limit, count = parse(ARGV[1])
local held, answer = read_permits(key, limit)
if not held then
    local left = redis.call('pttl', key)
    return answer == -1 and left or redis.status_reply(answer.ok .. string.format(' %.0f', left))
end
if held.sole then
    return limit > count and -2 or held.left
end
local taken = held.ends and redis.call('zcard', key) - 1 or 0
if taken + count <= limit then
    return -2
end
local ends = {}
for i, score in ipairs(redis.call('zrange', key, 1, -1, 'withscores')) do
    if i % 2 == 0 and score % span > held.now then
        ends[#ends + 1] = score % span
    end
end
if #ends + count <= limit then
    return -2
end
table.sort(ends)
-- mutant: waiter_for_several_waits_for_all
return ends[#ends + count - limit] - held.now
