-- Clears the way for a writer that was denied, and is about to try again: drops the readers that have expired. If there
-- are others, it leaves a mark among them, at which no more are let in. The mark expires unless the writer tries again.
--
-- KEYS[1]  the key
-- ARGV[1]  for how many milliseconds the mark lives at least; 0: leave none, the writer will not wait
-- ARGV[2]  for how many it may live at most; a mark that would live longer was left before the server's clock was set back
-- Returns  1 there is nothing in the way but, perhaps, an exclusive holder; 0 there are readers

--@include parts/readers.lua

local key = KEYS[1]
local now = now_in_ms()
local least = now + ARGV[1]
local mark = 0  -- of another writer, perhaps

local value = redis.pcall('get', key)
if value == false or type(value) == 'string' and not is_reader(value) then
    return 1
end
if type(value) == 'string' then
    if least == now then
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
    redis.call('zremrangebyscore', key, '-inf', now)
    mark = tonumber(redis.call('zscore', key, 'writer') or 0)
    if redis.call('zcard', key) == (mark > 0 and 1 or 0) then
        redis.call('del', key)
        return 1
    end
end
local mark_until = math.max(least, math.min(mark, now + ARGV[2]))
if mark_until > now and mark_until ~= mark then
    redis.call('zadd', key, mark_until, 'writer')
    live_with_last(key)
end
return 0
