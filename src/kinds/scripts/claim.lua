-- Clears the way for a writer that was denied, and is about to try again: drops the readers that have expired. If there
-- are others, it leaves a mark among them, at which no more are let in. The mark expires unless the writer tries again.
--
-- KEYS[1]  the key
-- ARGV[1]  for how many milliseconds the mark lives at least; 0: leave none, the writer will not wait
-- Returns  1 there is nothing in the way but, perhaps, an exclusive holder; 0 there are readers

--@include parts/readers.lua

local key = KEYS[1]
local now = now_in_ms()
local mark_until = now + ARGV[1]

local value = redis.pcall('get', key)
if value == false or type(value) == 'string' and not is_reader(value) then
    return 1
end
if type(value) == 'string' then
    if mark_until == now then
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
    local mark = redis.call('zscore', key, 'writer')  -- of another writer, perhaps
    if redis.call('zcard', key) == (mark and 1 or 0) then
        redis.call('del', key)
        return 1
    end
    mark_until = math.max(mark_until, tonumber(mark or 0))
end
if mark_until > now then
    redis.call('zadd', key, mark_until, 'writer')
    live_with_last(key)
end
return 0
