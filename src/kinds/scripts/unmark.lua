-- Takes back the mark of a writer that waits no more.
--
-- KEYS[1]  the key
-- ARGV[1]  the number of its client
-- Returns  1 there was a mark of it; 0 there was none

--@include parts/readers.lua

local key = KEYS[1]
if not has_readers(key) or redis.call('zrem', key, 'writer:' .. ARGV[1]) == 0 then
    return 0
end
live_with_last(key)
return 1
