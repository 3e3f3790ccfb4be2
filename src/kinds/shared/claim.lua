-- Clears the way for a writer that was denied and is about to try again. If all readers of a set have
-- expired, the set is deleted. If there are readers, the writer sets a mark among them, which keeps new
-- readers out. The mark expires unless the writer tries again.
--
-- KEYS[1]  The key.
-- ARGV[1]  How long the mark lives, in milliseconds. 0 sets no mark, because the writer will not wait.
-- ARGV[2]  The number of the writer's client.
-- ARGV[3]  A name in the key's slot. A set is made there before it replaces the key.
-- Returns  1 if nothing blocks the writer except, perhaps, an exclusive holder. 0 if there are readers.

--@include ../look.lua
--@include ../lock_key.lua

local key = KEYS[1]
-- mutant: no_mark
local life = tonumber(ARGV[1])
local mark = 'writer:' .. ARGV[2]

local value = look('get', key)
if value == false then
    return 1
end
if type(value) == 'string' then
    local left = redis.call('pttl', key)
    if not is_reader(value) or left < 0 then
        return 1
    end
    local failed = life > 0 and make_set(key, ARGV[3], value, left, mark, life, -1)
    if failed then
        return failed
    end
    if life > 0 then
        redis.call('rename', ARGV[3], key)
    end
    return 0
end
local set = read_set(key)
if not set then
    return 1  -- The key is not a set that colock wrote.
end
-- mutant: claim_removes_readers
if set.readers <= set.now then
    redis.call('del', key)
    return 1
end
if life > 0 then
    if redis.call('zscore', key, mark) then
        redis.call('zrem', key, '')  -- After this write, the server refuses none for lack of memory.
    end
    prepare(key, set, mark, set.now + life)
    put(key, set, mark, -(set.now + life))
end
return 0
