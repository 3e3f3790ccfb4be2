-- Clears the way for a writer that was denied, and is about to try again: drops the readers that have expired. If there
-- are others, it leaves a mark among them, at which no more are let in. The mark expires unless the writer tries again.
--
-- KEYS[1]  the key
-- ARGV[1]  for how many milliseconds the mark lives; 0: leave none, the writer will not wait
-- ARGV[2]  the number of the writer's client
-- Returns  1 there is nothing in the way but, perhaps, an exclusive holder; 0 there are readers

--@include parts/readers.lua

local key = KEYS[1]
local life = tonumber(ARGV[1])
local now = now_in_ms()

local value = redis.pcall('get', key)
if value == false or type(value) == 'string' and not is_reader(value) then
    return 1
end
if type(value) == 'string' then
    if life == 0 then
        return 0
    end
    local forbidden = is_forbidden(key)
    if forbidden then
        return forbidden
    end
    make_set(key, value, now)
else  -- an error: a key of another type
    if not has_readers(key) then
        return 1  -- nothing of ours
    end
    drop_expired(key, now)
    if last_reader_until(key) == 0 then
        redis.call('del', key)
        return 1
    end
end
if life > 0 then
    redis.call('zadd', key, -(now + life), 'writer:' .. ARGV[2])
    live_with_last(key)
end
return 0
